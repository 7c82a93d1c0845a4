// The page's own files and the chart library, as they were when the tools were built.
#pragma once

#include <string_view>

namespace udtx::apps {

struct PageAssets {
    std::string_view html;    ///< with two marks for what differs, see document()
    std::string_view style;   ///< CSS
    std::string_view script;  ///< of the page
    std::string_view chart;   ///< Chart.js
};

/// Null: there was no Chart.js when this was built, and so there is no page.
[[nodiscard]] const PageAssets* page_assets() noexcept;

}  // namespace udtx::apps

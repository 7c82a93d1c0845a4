// The page's own files, the chart library and the list of words, as they were when the tools were built.
#pragma once

#include <string_view>

namespace udtx::apps {

struct PageAssets {
    std::string_view html;    ///< document() puts what differs in two places of it
    std::string_view style;   ///< CSS
    std::string_view script;  ///< the page's script
    std::string_view chart;   ///< Chart.js
};

/// Null if Chart.js was missing at build time. Then the tools serve no page.
[[nodiscard]] const PageAssets* page_assets() noexcept;

/// The words of codes (rendezvous/code.hpp), one on each line, in alphabetical order.
[[nodiscard]] std::string_view code_words() noexcept;

}  // namespace udtx::apps

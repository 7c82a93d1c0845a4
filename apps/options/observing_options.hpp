// Flags for observing a transfer besides the progress line.
#pragma once

#include <optional>
#include <string>

#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct ObservingOptions {
    bool json_stream = false;
    bool stats = false;
    std::string metrics_text;
    std::string log_format_text = "text";
    std::string http_text;
    std::string report;  ///< file; empty: none

    std::optional<HostPort> metrics;
    std::optional<HostPort> http;

    void add_to(CLI::App& app, const std::string& group);
    Result<void> check();
};

}  // namespace udtx::apps

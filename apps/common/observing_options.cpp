#include "common/observing_options.hpp"

#include <utility>

namespace udtx::apps {

void ObservingOptions::add_to(CLI::App& app, const std::string& group) {
    app.add_flag("--json-stream", json_stream, "Print one JSON object a second, and that of --json at the end")
        ->group(group);
    app.add_flag("--stats", stats, "Print figures about files, packets and limits at the end")->group(group);
    app.add_option("--metrics", metrics_text, "Serve metrics for Prometheus over HTTP; on loopback if no ADDR is given")
        ->type_name("[ADDR]:PORT")
        ->group(group);
    app.add_option("--log-format", log_format_text, "Messages, also those of --log: text (default) or json")
        ->type_name("FORMAT")
        ->group(group);
}

Result<void> ObservingOptions::check() {
    if (log_format_text != "text" && log_format_text != "json") {
        return Error{ErrorCode::invalid_argument,
                     "--log-format: '" + log_format_text + "' is unknown; there is: text, json"};
    }
    if (metrics_text.empty()) return {};
    auto parsed = io::parse_host_port(metrics_text);
    if (!parsed) return Error{ErrorCode::invalid_argument, "--metrics: " + parsed.error().message};
    metrics = std::move(*parsed);
    return {};
}

}  // namespace udtx::apps

#include "options/observing_options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "assets/assets.hpp"

namespace udtx::apps {
namespace {

Result<void> parse_address(const std::string& text, const char* flag, std::optional<HostPort>& where) {
    if (text.empty()) return {};
    auto parsed = parse_host_port(text);
    if (!parsed) return Error{ErrorCode::invalid_argument, std::string(flag) + ": " + parsed.error().message};
    where = std::move(*parsed);
    return {};
}

}  // namespace

void ObservingOptions::add_to(CLI::App& app, const std::string& group) {
    app.add_flag("--json-stream", json_stream, "Print one JSON object every second, and that of --json at the end")
        ->group(group);
    app.add_flag("--stats", stats, "Print statistics of files, packets and limits at the end")->group(group);
    app.add_option("--metrics", metrics_text, "Serve Prometheus metrics over HTTP (default ADDR: loopback)")
        ->type_name("[ADDR]:PORT")
        ->group(group);
    app.add_option("--log-format", log_format_text, "Format of messages, also of those in --log (default text)")
        ->type_name("text|json")
        ->group(group);
    app.add_option("--http", http_text, "Serve a live page for browsers (default ADDR: loopback)")
        ->type_name("[ADDR]:PORT")
        ->group(group);
    app.add_option("--report", report, "Write this page to a file at the end")->type_name("FILE.html")->group(group);
}

Result<void> ObservingOptions::check() {
    if (log_format_text != "text" && log_format_text != "json") {
        return Error{ErrorCode::invalid_argument,
                     "--log-format: '" + log_format_text + "' is unknown; use text or json"};
    }
    if (const auto parsed = parse_address(metrics_text, "--metrics", metrics); !parsed) return parsed;
    if (const auto parsed = parse_address(http_text, "--http", http); !parsed) return parsed;
    if (page_assets() == nullptr && (http || !report.empty())) {
        return Error{ErrorCode::invalid_argument,
                     std::string(http ? "--http" : "--report") +
                         ": this program was built without the page, because Chart.js was missing (Debian: "
                         "libjs-chart.js)"};
    }
    return {};
}

}  // namespace udtx::apps

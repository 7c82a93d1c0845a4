// Metrics in Prometheus' text format (version 0.0.4).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"

namespace udtx::apps {

struct MetricsView {
    std::string role;  ///< "sender", "receiver", or "server" for a process that can do both
    std::string version;
    std::vector<Observation> transfers{};  ///< running ones
    std::uint64_t transfers_ended = 0;
    std::uint64_t transfers_failed = 0;  ///< among transfers_ended
    std::uint64_t bytes_ended = 0;       ///< moved by transfers_ended
    std::uint64_t refused = 0;           ///< refused handshakes
};

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
[[nodiscard]] std::string metrics_text(const MetricsView& view);
/// Serves metrics if the user asked for them, and logs the address; null if not.
[[nodiscard]] Result<std::unique_ptr<HttpServer>> serve_metrics(const CommonOptions& options, Log& log,
                                                                std::function<std::string()> page);

}  // namespace udtx::apps

// Metrics in Prometheus' text format (version 0.0.4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/observer.hpp"

namespace udtx::apps {

struct MetricsView {
    std::string role;  ///< "sender", "receiver", or "server" where there may be both
    std::string version;
    std::vector<Observation> transfers{};  ///< under way
    std::uint64_t transfers_ended = 0;
    std::uint64_t transfers_failed = 0;  ///< of those
    std::uint64_t bytes_ended = 0;       ///< that those moved
    std::uint64_t refused = 0;           ///< handshakes
};

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
[[nodiscard]] std::string metrics_text(const MetricsView& view);

}  // namespace udtx::apps

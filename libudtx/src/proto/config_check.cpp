#include "udtx/core/config_check.hpp"

#include <string>

#include "congestion/factory.hpp"
#include "crypto/key_schedule.hpp"
#include "multipath/factory.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

namespace {
constexpr std::uint32_t kLargestDatagram = 65000;  // upper end of the size search, below the limit of an IP packet

Error invalid(std::string message) { return {ErrorCode::invalid_argument, "TransportConfig: " + std::move(message)}; }
}  // namespace

Result<void> check_cap(Rate rate, const std::string& name) {
    if (may_cap(rate)) return {};
    return Error{ErrorCode::invalid_argument, name + " must be above zero, or nothing could move"};
}

Result<void> check(const TransportConfig& config) {
    const auto controller = congestion::make_controller(config.congestion, config.congestion_factory, {}, {});
    if (!controller) return controller.error();
    const auto scheduler = multipath::make_scheduler(config.scheduler, config.scheduler_factory);
    if (!scheduler) return scheduler.error();
    if (config.max_paths == 0 || config.max_paths > kMaxPaths) {
        return invalid("max_paths must be from 1 to " + std::to_string(kMaxPaths));
    }
    if (auto good = check_cap(config.max_rate, "TransportConfig: max_rate"); !good) return good;
    if (auto good = check_cap(config.max_receive_rate, "TransportConfig: max_receive_rate"); !good) return good;
    if (config.min_rate.is_infinite()) return invalid("min_rate must be finite");
    if (config.min_rate > config.max_rate) return invalid("min_rate is above max_rate");
    if (config.policy == Policy::fixed && config.max_rate.is_infinite()) {
        return invalid("the policy 'fixed' needs max_rate");
    }
    if (config.idle_timeout <= Duration::zero()) return invalid("idle_timeout must be positive");
    if (config.handshake_timeout <= Duration::zero()) return invalid("handshake_timeout must be positive");
    if (config.keep_alive < Duration::zero()) return invalid("keep_alive must not be negative");
    if (config.min_datagram < wire::kMinInitialDatagram || config.min_datagram > config.max_datagram) {
        return invalid("min_datagram must be from 1200 to max_datagram");
    }
    if (config.max_datagram > kLargestDatagram) return invalid("max_datagram must be at most 65000");
    if (config.connection_window == 0 || config.stream_window == 0 || config.send_buffer == 0) {
        return invalid("connection_window, stream_window and send_buffer must be positive");
    }
    if (config.max_memory > kMaxWindowMemory) return invalid("max_memory must be at most 4 GiB");
    const std::uint64_t most = crypto::limits_for(crypto::Cipher::aes_256_gcm).sealed_per_key;
    if (config.rekey_after_packets == 0 || config.rekey_after_packets >= most) {
        return invalid("rekey_after_packets must be from 1 to " + std::to_string(most - 1));
    }
    return {};
}

}  // namespace udtx::proto

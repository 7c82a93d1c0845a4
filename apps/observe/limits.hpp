// Measures what limited a transfer. Each sampling tick is decided from that tick's measurements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/stats.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

enum class Limit : std::uint8_t {
    sender_disk,     ///< no data waited to be sent: the source was still being read
    input,           ///< as sender_disk, but the source is a pipe
    receiver_disk,   ///< flow control held bytes back, or all data had arrived and the disk was still busy
    receive_window,  ///< flow control held bytes back while the receiver's writer had little to do
    network,         ///< window or pacing of the congestion control
    path_loss,       ///< as network, with at least kLossyShare of the packets lost
    rate_cap,        ///< a rate that the user of one of the ends set
    sender_cpu,      ///< the protocol thread or the readers used all their processor time
    receiver_cpu,    ///< the receiver reports that its protocol thread is busy
    small_data,      ///< all data was sent, and the sender waited for round trips
    elsewhere,       ///< at a receiver whose disk and processor have spare time: the sender or the path
    outage,          ///< the peer did not answer, or there was no connection
};
inline constexpr std::size_t kLimits = 12;
[[nodiscard]] const char* name_of(Limit limit) noexcept;       ///< "receiver_disk", for machines
[[nodiscard]] std::string_view text_of(Limit limit) noexcept;  ///< "receiver disk"

struct LimitShare {
    Limit limit{};
    double share = 0.0;  ///< of the time, 0 to 1
};
/// "limited by: receiver disk 82 % of the time, network 12 %"; empty if nothing was measured.
[[nodiscard]] std::string limit_line(const std::vector<LimitShare>& shares);

/// Measurements at one moment. Counters only grow.
struct LimitSample {
    Duration at{};
    transfer::Phase phase{};
    bool source_read = false;  ///< the source was read to its end
    bool streaming = false;    ///< the source is a pipe
    std::optional<transfer::ReceiverLoad> receiver;
    HoldTimes held{};
    SendHold hold = SendHold::host;
    std::uint64_t sent_packets = 0;
    std::uint64_t lost_packets = 0;
    Duration rtt{};
    Duration protocol{};      ///< protocol thread: running or waiting for a processor
    Duration others{};        ///< processor time of the other threads
    Duration writing{};       ///< at a receiver: time in which its writer worked
    bool unanswered = false;  ///< the peer owes an answer, or data
    bool outage = false;      ///< no answer for so long that Silence counts it as missing time
};

class LimitMeter {
  public:
    static constexpr double kBusy = 0.9;   ///< share of a tick: no spare time
    static constexpr double kSpare = 0.3;  ///< share of a tick: little to do
    static constexpr double kLossyShare = 0.01;
    /// Samples are far less apart, unless this process was stopped: then it answered nobody.
    static constexpr Duration kStopped = std::chrono::seconds(2);

    /// `sends`: this end sends the data.
    explicit LimitMeter(bool sends) : sends_(sends) {}
    /// A new connection replaces the last one, so its counters start at zero.
    void begin_connection();
    void sample(const LimitSample& sample);
    /// The limit of the latest tick.
    [[nodiscard]] std::optional<Limit> now() const noexcept { return now_; }
    /// Largest first, without shares below half a percent.
    [[nodiscard]] std::vector<LimitShare> shares() const;

  private:
    void count(const LimitSample& sample, Duration time);
    [[nodiscard]] Limit of_sender(const LimitSample& s, Duration time);
    [[nodiscard]] Limit of_receiver(const LimitSample& s, Duration time) const;
    [[nodiscard]] Limit without_data(const LimitSample& s, double others) const;

    bool sends_;
    LimitSample last_;                     // initially the start
    std::optional<Duration> all_sent_at_;  // when the flush began
    double recent_sent_ = 0.0;             // packets, faded by age
    double recent_lost_ = 0.0;
    std::optional<Limit> now_;
    std::array<Duration, kLimits> time_{};
    std::array<Duration, kLimits> unanswered_{};  // not yet in time_, because it may become an outage
};

}  // namespace udtx::apps

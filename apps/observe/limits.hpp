// What limited a transfer, decided for each sampling tick from what was measured in it, never guessed.
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
    sender_disk,     ///< nothing waited to be sent: the source was still being read
    input,           ///< the same, and the source is a pipe
    receiver_disk,   ///< flow control held bytes back, or all had come and the disk was still at work
    receive_window,  ///< flow control held bytes back while the receiver's writer had little to do
    network,         ///< window or pace of the congestion control
    path_loss,       ///< the same, while at least kLossyShare of the packets was lost
    rate_cap,        ///< a rate that the user of either end set
    sender_cpu,      ///< the protocol thread, or the readers, had no processor time left
    receiver_cpu,    ///< the receiver said so of its protocol thread
    small_data,      ///< all was sent, and round trips were waited for
    elsewhere,       ///< at a receiver: neither its disk nor its processor; the sender or the line
    outage,          ///< the other side did not answer, or there was no connection to it
};
inline constexpr std::size_t kLimits = 12;
[[nodiscard]] const char* name_of(Limit limit) noexcept;       ///< "receiver_disk", for machines
[[nodiscard]] std::string_view text_of(Limit limit) noexcept;  ///< "receiver disk"

struct LimitShare {
    Limit limit{};
    double share = 0.0;  ///< of the time, 0 to 1
};
/// "limited by: receiver disk 82 % of the time, network 12 %"; empty when nothing was measured.
[[nodiscard]] std::string limit_line(const std::vector<LimitShare>& shares);

/// What is known at one moment; counters grow.
struct LimitSample {
    Duration at{};
    transfer::Phase phase{};
    bool source_read = false;  ///< to its end
    bool streaming = false;    ///< the source is a pipe
    std::optional<transfer::ReceiverLoad> receiver;
    HoldTimes held{};
    SendHold hold = SendHold::host;
    std::uint64_t sent_packets = 0;
    std::uint64_t lost_packets = 0;
    Duration rtt{};
    Duration protocol{};      ///< the protocol thread, running or waiting for a processor
    Duration others{};        ///< processor time of the other threads
    Duration writing{};       ///< at a receiver: its writer at work
    bool unanswered = false;  ///< the other side owes an answer
    bool outage = false;      ///< and will not give it so soon: see Silence
};

class LimitMeter {
  public:
    static constexpr double kBusy = 0.9;   ///< of a tick: no time left
    static constexpr double kSpare = 0.3;  ///< of a tick: little to do
    static constexpr double kLossyShare = 0.01;

    /// `sends`: this end sends the data.
    explicit LimitMeter(bool sends) : sends_(sends) {}
    /// Another connection takes the place of the last: its counters begin anew.
    void begin_connection();
    void sample(const LimitSample& sample);
    /// Of the latest tick.
    [[nodiscard]] std::optional<Limit> now() const noexcept { return now_; }
    /// Largest first; those below half a percent are left out.
    [[nodiscard]] std::vector<LimitShare> shares() const;

  private:
    void count(const LimitSample& sample, Duration time);
    [[nodiscard]] Limit of_sender(const LimitSample& s, Duration time);
    [[nodiscard]] Limit of_receiver(const LimitSample& s, Duration time) const;
    [[nodiscard]] Limit without_data(const LimitSample& s, double others) const;

    bool sends_;
    LimitSample last_;                     // the start, first of all
    std::optional<Duration> all_sent_at_;  // when the flush began
    double recent_sent_ = 0.0;             // packets, older ones fading
    double recent_lost_ = 0.0;
    std::optional<Limit> now_;
    std::array<Duration, kLimits> time_{};
    std::array<Duration, kLimits> unanswered_{};  // not in time_ yet: it may turn out to be an outage
};

}  // namespace udtx::apps

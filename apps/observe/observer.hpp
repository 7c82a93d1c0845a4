// Observes a running transfer: samples, what limits it, how long its peer is silent.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/guarded.hpp"
#include "common/text.hpp"
#include "observe/progress.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

// Measures what limited a transfer. Each sampling tick is decided from that tick's measurements.

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

// Measures how long a peer has left sent data unanswered.

class Silence {
  public:
    /// Longer than an answer takes on any path or from a busy host.
    static constexpr Duration kOutage = std::chrono::seconds(3);
    /// A silence that lasts this long is missing time, even if it ends before it is reported as an outage.
    static constexpr Duration kOverdue = std::chrono::seconds(1);

    /// `receives`: this end receives the data, and so sends little that needs an answer.
    explicit Silence(bool receives = false) : receives_(receives) {}

    /// `stats`: of the connection; empty while there is none.
    void look(Duration at, const std::optional<ConnectionStats>& stats);
    /// The connection is given up. The silence lasts until another connection receives a packet.
    void lost(Duration at);

    /// Zero while nothing waits for an answer, or answers arrive.
    [[nodiscard]] Duration unanswered() const noexcept { return since_ ? at_ - *since_ : Duration(); }
    [[nodiscard]] bool outage() const noexcept { return lost_ || unanswered() >= std::max(kOutage, usual_); }
    /// An answer is missing for so long that the time counts as an outage.
    [[nodiscard]] bool overdue() const noexcept { return lost_ || unanswered() >= std::max(kOverdue, usual_); }
    /// Nothing has arrived at a receiver for a while. If the connection is lost, the outage began then.
    [[nodiscard]] bool quiet() const noexcept { return receives_ && at_ - heard_at_ >= std::max(kOverdue, usual_); }

  private:
    Duration at_{};
    std::optional<Duration> since_;
    Duration heard_at_{};
    Duration usual_{};  // what an answer may take on a slow path
    bool receives_;
    std::uint64_t received_ = 0;  // packets
    bool lost_ = false;
};

// Samples a running transfer ten times a second and keeps the result for all readers: progress lines, JSON stream,
// metrics, control socket.

struct Observation {
    std::string peer;
    bool sends = false;  ///< this side sends the data
    Duration at{};       ///< since the start
    transfer::Progress progress;
    bool streaming = false;
    std::optional<ConnectionStats> stats;
    Rate rate;                       ///< of the bytes done, over about the last two seconds
    std::map<PathId, Rate> paths;    ///< as `rate`, for what each path carries
    std::optional<Duration> silent;  ///< an outage: time without an answer
    std::optional<Limit> limited_by;
    std::vector<LimitShare> limits;
    Rate cap = Rate::infinite();  ///< the cap at present

    /// Zero for a path that is not in use.
    [[nodiscard]] Rate rate_of(PathId path) const;
};

/// The inputs of one tick.
struct Glance {
    Duration at{};
    transfer::Progress progress;
    std::optional<ConnectionStats> stats{};
    Duration stats_age{};  ///< age of `stats` at `at`
    Duration protocol{};   ///< see LimitSample
    Duration process{};    ///< processor time of all threads
    Duration writing{};
    Rate cap = Rate::infinite();
    Duration unanswered{};  ///< see Silence
    bool outage = false;
    bool overdue = false;
    bool quiet = false;
    bool connected = true;  ///< false: before the end of the handshake, or between two connections
};

class Observer {
  public:
    Observer(DataEnd end, bool streaming, std::string peer);

    // --- functions for one thread
    /// Sets which end this is, once it is known. Call it before any data has moved.
    void become(DataEnd end);
    void look(const Glance& glance);
    /// Later calls of look() are about another connection of the same transfer.
    void begin_connection();
    // --- functions for any thread
    [[nodiscard]] Observation latest() const { return *latest_.lock(); }

  private:
    [[nodiscard]] LimitSample sample_of(const Glance& glance) const;

    DataEnd end_;
    LimitMeter limits_;
    bool over_ = false;
    RateMeter rate_{RateMeter::kShortWindow};
    std::map<PathId, RateMeter> paths_;
    Guarded<Observation> latest_;
};

/// Processor time that this process has used.
[[nodiscard]] Duration process_time() noexcept;

/// For a receiver: the statistics with the counters, MTR and datagram size that the sender reported. Its own count
/// acknowledgements. Paths without a report have zeros.
[[nodiscard]] std::optional<ConnectionStats> of_data(std::optional<ConnectionStats> stats,
                                                     const transfer::Progress& progress);

/// Adds the counts of `next` to `total`.
void accumulate(transfer::Progress& total, const transfer::Progress& next);
/// Several transfers as one: sums. A single transfer is returned unchanged.
[[nodiscard]] Observation sum_of(const std::vector<Observation>& transfers);

/// One line of JSON. The manual pages list its fields (options/manuals.cpp).
[[nodiscard]] std::string progress_json(const Observation& seen);

/// Prints one object a second with `print`, for example to standard output.
class JsonTicker {
  public:
    using Print = std::function<void(const std::string& line)>;
    /// Prints to standard output, or to `terminal` if data goes there.
    [[nodiscard]] static Print to_output(Terminal* terminal = nullptr);
    explicit JsonTicker(Print print) : print_(std::move(print)) {}
    void tick(Duration at, const Observation& seen);

  private:
    Print print_;
    std::optional<Duration> last_;
};

// Formats the progress of jobs that several shards share.

/// Each job once, combined from the shards among these transfers.
[[nodiscard]] std::vector<transfer::JobProgress> jobs_of(const std::vector<Observation>& transfers);
/// 16 hexadecimal digits, as in the names of the job's files.
[[nodiscard]] std::string job_name(const transfer::JobProgress& job);
/// "job 00a1...: 3 of 8 shards done, 5 running, 45 % of 1.20 GB, 95.0 Mbit/s, slowest 6/8"
[[nodiscard]] std::string job_line(const transfer::JobProgress& job);
[[nodiscard]] Json job_json(const transfer::JobProgress& job);

}  // namespace udtx::apps

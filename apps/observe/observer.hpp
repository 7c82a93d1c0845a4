// Samples a running transfer ten times a second and keeps the result for all readers: progress lines, JSON stream,
// metrics, control socket.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "observe/limits.hpp"
#include "observe/path_progress.hpp"
#include "observe/progress.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::apps {

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
    [[nodiscard]] Observation latest() const;

  private:
    [[nodiscard]] LimitSample sample_of(const Glance& glance) const;

    DataEnd end_;
    LimitMeter limits_;
    bool over_ = false;
    RateMeter rate_{RateMeter::kShortWindow};
    std::map<PathId, RateMeter> paths_;
    mutable std::mutex mutex_;  // guards the members below
    Observation latest_;
};

/// Processor time that this process has used.
[[nodiscard]] Duration process_time() noexcept;

/// For a receiver: the statistics with the counters, MTR and datagram size that the sender reported. Its own count
/// acknowledgements. Paths without a report have zeros.
[[nodiscard]] std::optional<ConnectionStats> of_data(std::optional<ConnectionStats> stats,
                                                     const transfer::Progress& progress);

/// Several transfers as one: sums. A single transfer is returned unchanged.
[[nodiscard]] Observation sum_of(const std::vector<Observation>& transfers);

/// One line of JSON. The manual pages list its fields (options/manual_output.cpp).
[[nodiscard]] std::string progress_json(const Observation& seen);

}  // namespace udtx::apps

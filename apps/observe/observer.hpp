// Looks at a running transfer ten times a second, and keeps what it saw for all who ask: the progress lines, the JSON
// stream, the metrics, the control socket.
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
    Rate rate;                       ///< bytes done, of the last two seconds or so
    std::map<PathId, Rate> paths;    ///< the same of what each path carries
    std::optional<Duration> silent;  ///< an outage: no answer for so long
    std::optional<Limit> limited_by;
    std::vector<LimitShare> limits;
    Rate cap = Rate::infinite();  ///< as it is now
};

/// What a tick brings.
struct Glance {
    Duration at{};
    transfer::Progress progress;
    std::optional<ConnectionStats> stats{};
    Duration stats_age{};  ///< how long before `at` they were taken
    Duration protocol{};   ///< see LimitSample
    Duration process{};    ///< processor time of all threads
    Duration writing{};
    Rate cap = Rate::infinite();
    Duration unanswered{};  ///< see Silence
    bool outage = false;
};

class Observer {
  public:
    Observer(DataEnd end, bool streaming, std::string peer);

    // --- one thread
    /// Before anything has moved: it turned out which end this is.
    void become(DataEnd end);
    void look(const Glance& glance);
    /// What is looked at from now on is another connection of the same transfer.
    void begin_connection();
    // --- any thread
    [[nodiscard]] Observation latest() const;

  private:
    [[nodiscard]] LimitSample sample_of(const Glance& glance) const;

    DataEnd end_;
    LimitMeter limits_;
    bool over_ = false;
    RateMeter rate_{RateMeter::kShortWindow};
    std::map<PathId, RateMeter> paths_;
    mutable std::mutex mutex_;  // guards what follows
    Observation latest_;
};

/// Processor time of this process so far.
[[nodiscard]] Duration process_time() noexcept;

/// Several transfers as one: the sums; of one alone everything.
[[nodiscard]] Observation sum_of(const std::vector<Observation>& transfers);

/// One line of JSON. The manual pages list its fields (options/manual_output.cpp).
[[nodiscard]] std::string progress_json(const Observation& seen);

}  // namespace udtx::apps

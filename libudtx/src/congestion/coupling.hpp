// What the controllers of one connection's paths know of each other (docs/inside/multipath.md, Coupling).
//
// Each controller joins its group, stores the state of its path there, and reads the state of the others. All run on
// one thread. The group outlives its members.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "congestion/policy.hpp"
#include "udtx/rate.hpp"

namespace udtx::congestion {

/// Queueing delay over time, in slots. Traces of two paths show whether they share a bottleneck.
class DelayTrace {
  public:
    static constexpr Duration kSlot = std::chrono::milliseconds(50);
    static constexpr std::int64_t kSlots = 160;  ///< 8 s are compared
    static constexpr std::int64_t kLags = 4;     ///< slots in each direction by which one path may see the queue later

    /// Adds the one-way delay of a packet that was acknowledged now, s. A constant clock offset has no effect.
    void add(Instant now, double delay);
    /// Correlation of the two traces up to `now`, the best of all lags. It is 0 if they are too short, have holes, or
    /// one of them hardly varies.
    [[nodiscard]] static double correlation(const DelayTrace& a, const DelayTrace& b, Instant now);

  private:
    static constexpr std::int64_t kKept = kSlots + 2 * kLags + 2;
    struct Slot {
        std::int64_t index = -1;
        double sum = 0.0;
        std::uint32_t count = 0;
    };
    [[nodiscard]] const Slot& at(std::int64_t index) const { return slots_[static_cast<std::size_t>(index % kKept)]; }
    [[nodiscard]] static double correlation(const DelayTrace& a, const DelayTrace& b, std::int64_t end,
                                            std::int64_t lag);

    std::array<Slot, static_cast<std::size_t>(kKept)> slots_{};
};

class CouplingGroup {
  public:
    struct Member {
        double window = 0.0;    ///< bytes; 0: not in use
        double rtt = 0.0;       ///< smoothed, s
        double capacity = 0.0;  ///< link rate, 0 = unknown
        DelayTrace trace;
        bool open = true;
    };
    using Id = std::size_t;

    [[nodiscard]] Id join();
    void leave(Id id) { members_[id].open = false; }
    [[nodiscard]] Member& member(Id id) { return members_[id]; }

    /// cwnd_total of RFC 6356, bytes.
    [[nodiscard]] double total_window() const;
    /// alpha of RFC 6356.
    [[nodiscard]] double alpha() const;

    /// Number of members, including `id`, that send through the bottleneck of `id`. Compared once a second.
    [[nodiscard]] std::size_t sharers(Id id, Instant now);

  private:
    /// Two paths count as sharing from a correlation of kShared on, until it is below kApart.
    static constexpr double kShared = 0.8;
    static constexpr double kApart = 0.4;
    static constexpr double kSameCapacity = 1.3;  ///< capacities of one link differ by at most this factor
    static constexpr Duration kInterval = std::chrono::seconds(1);
    void compare(Instant now);

    std::vector<Member> members_;
    std::vector<std::vector<bool>> shared_;  // [a][b], a < b
    std::optional<Instant> compared_;
};

// Rate-coupled paths: m paths of a connection that share a bottleneck act together as one flow. Each controller sees m
// times what happens on its path, and the path uses 1/m of what the controller wants. A path with m = 1 is unchanged.

class CoupledShare final : public Around {
  public:
    CoupledShare(std::unique_ptr<CongestionController> inner, std::shared_ptr<CouplingGroup> group,
                 std::uint32_t datagram_bytes)
        : Around(std::move(inner)), group_(std::move(group)), id_(group_->join()), datagram_bytes_(datagram_bytes) {}
    ~CoupledShare() override { group_->leave(id_); }
    CoupledShare(const CoupledShare&) = delete;
    CoupledShare& operator=(const CoupledShare&) = delete;

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override {
        return inner_->pacing_rate() * (1.0 / static_cast<double>(sharers_));
    }

    [[nodiscard]] std::size_t sharers() const noexcept { return sharers_; }

  private:
    void measure(const CongestionFeedback& feedback);

    std::shared_ptr<CouplingGroup> group_;
    CouplingGroup::Id id_;
    std::uint32_t datagram_bytes_;
    std::size_t sharers_ = 1;
    CongestionFeedback whole_;  // reused, to keep the capacity of its vectors
};

}  // namespace udtx::congestion

// Checks a running episode periodically: does data move, and how much memory is held?
#pragma once

#include <cstdint>
#include <optional>

#include "soak/episode.hpp"
#include "soak/work.hpp"
#include "soak/world.hpp"

namespace udtx::soak {

class Watch {
  public:
    Watch(World& world, Work& work, const Plan& plan);

    /// `since`: the time since which both ends have had the same connection. Empty: they do not have one.
    void look(std::optional<Instant> since, std::size_t sessions);
    /// The client's connection or its handshake ended without a request to close.
    void on_closed(const proto::CloseReason& reason, Duration silence, bool was_up);
    /// An end was killed or asleep until then: its peer may give up.
    void excuse(Instant until) { excused_until_ = std::max(excused_until_, until); }

    void report(Outcome& outcome) const;

  private:
    void look_for_stall(Instant since, Role from);
    void look_at_memory(std::size_t sessions);

    World& world_;
    Work& work_;
    const Plan& plan_;
    std::uint64_t heap_before_;
    Instant excused_until_{};
    Instant pending_since_[2]{};
    bool pending_[2]{};
    bool stall_told_ = false;
    bool memory_told_ = false;
    double longest_wait_ = 0.0;
    double most_memory_ = 0.0;
    std::uint64_t most_memory_bytes_ = 0;
};

}  // namespace udtx::soak

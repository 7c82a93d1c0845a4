// Looks at a running episode, again and again: does it move, and what does it hold?
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

    /// `since`: both ends have had a connection that is up; none: they have not.
    void look(std::optional<Instant> since, std::size_t sessions);
    /// The client's connection ended, or its handshake did, without having been told to.
    void on_closed(const proto::CloseReason& reason, Duration silence, bool was_up);
    /// Somebody was killed or asleep: the peer may give up.
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

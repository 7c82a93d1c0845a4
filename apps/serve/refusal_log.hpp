// Logs refused clients. Anyone may try a thousand times a second, so it logs one line a second, and then the number of
// the other refusals.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "common/log.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// Any thread may use it.
class RefusalLog {
  public:
    /// The log must outlive it. `all`: logs a line for each refusal.
    RefusalLog(Log& log, bool all) : log_(log), all_(all) {}
    void tell(Instant now, const std::string& line);
    /// Call it a few times a second.
    void look(Instant now);
    /// Logs the remaining count. Call it after the last tell().
    void finish();

  private:
    void tell_rest();

    Log& log_;
    const bool all_;
    std::mutex mutex_;  // guards the members below
    std::optional<Instant> last_;
    std::uint64_t untold_ = 0;
};

}  // namespace udtx::apps

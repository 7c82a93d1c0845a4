// Lines about those who were refused: anyone may try a thousand times a second, so there is one a second, and then a
// line that says how many more there were.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "common/log.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// Any thread.
class RefusalLog {
  public:
    /// The log outlives it. `all`: each gets its line.
    RefusalLog(Log& log, bool all) : log_(log), all_(all) {}
    void tell(Instant now, const std::string& line);
    /// To be called a few times a second.
    void look(Instant now);
    /// No more will come.
    void finish();

  private:
    void tell_rest();

    Log& log_;
    const bool all_;
    std::mutex mutex_;  // guards what follows
    std::optional<Instant> last_;
    std::uint64_t untold_ = 0;
};

}  // namespace udtx::apps

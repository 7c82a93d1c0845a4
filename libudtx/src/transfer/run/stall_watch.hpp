// Measures how long a transfer has made no progress.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/time.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::transfer {

class StallWatch {
  public:
    [[nodiscard]] Duration idle(Instant now, const Progress& progress) {
        // The transport accepts data for a while after the path has failed, so bytes_sent counts only until bytes are
        // delivered.
        const std::uint64_t sent = progress.bytes_done > 0 ? 0 : progress.bytes_sent;
        const Mark mark{progress.phase, progress.files_done, progress.files_total, progress.bytes_done,
                        sent,           progress.bytes_kept, progress.steps};
        if (!last_ || *last_ != mark) {
            last_ = mark;
            since_ = now;
        }
        return now - since_;
    }

  private:
    struct Mark {
        Phase phase{};
        std::uint64_t files_done = 0;
        std::uint64_t files_total = 0;
        std::uint64_t bytes_done = 0;
        std::uint64_t bytes_sent = 0;
        std::uint64_t bytes_kept = 0;
        std::uint64_t steps = 0;
        friend bool operator==(const Mark&, const Mark&) = default;
    };
    std::optional<Mark> last_;
    Instant since_{};
};

}  // namespace udtx::transfer

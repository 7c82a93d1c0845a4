// Shows how each path of a connection performs at present: the lines below the progress line, with -v.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "observe/progress.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// The end that this process is. The data's sender knows what was delivered, lost and retransmitted; the receiver knows
/// what arrives.
enum class DataEnd { sender, receiver };

class PathMeters {
  public:
    explicit PathMeters(DataEnd end) : end_(end) {}

    void sample(Duration now, const ConnectionStats& stats);
    /// One line for each open path, at most `columns` wide; empty if there is only one path. Rate and loss are those of
    /// about the last two seconds.
    [[nodiscard]] std::vector<std::string> lines(std::size_t columns) const;

  private:
    struct Meter {
        RateMeter bytes{RateMeter::kShortWindow};
        RateMeter sent{RateMeter::kShortWindow};
        RateMeter lost{RateMeter::kShortWindow};
        PathStats last;
    };
    [[nodiscard]] std::string line(const Meter& meter, std::size_t columns) const;

    DataEnd end_;
    std::map<PathId, Meter> meters_;
};

}  // namespace udtx::apps

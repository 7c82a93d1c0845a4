// How each path of a connection does at present: the lines below the progress line, with -v.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "observe/progress.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// Which end we are: the sender of the data knows what was delivered, lost and sent again, the receiver what comes.
enum class DataEnd { sender, receiver };

class PathMeters {
  public:
    explicit PathMeters(DataEnd end) : end_(end) {}

    void sample(Duration now, const ConnectionStats& stats);
    /// One line for each open path, at most `columns` wide; none where there is but one. Rate and loss are those of the
    /// last two seconds or so.
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

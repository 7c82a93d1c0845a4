// What earlier runs of this user measured of their paths. Each run is a new process, so it is kept in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "udtx/known_paths.hpp"
#include "udtx/rate.hpp"

namespace udtx::apps {

/// A file `paths` in $XDG_STATE_HOME/udtx, or else in ~/.local/state/udtx; mode 0600. Its first line is its format, and
/// each other line is one path. All processes of this user share it. A process replaces the whole file: if two do so at
/// once, the entry of one is lost. A file that cannot be used costs only the faster start.
class KnownPathsFile {
  public:
    /// `log` and `paths` must outlive the object.
    KnownPathsFile(Log& log, KnownPaths& paths) : log_(log), paths_(paths) {}

    /// Reads the file.
    void load();
    /// Adds what this process has measured since load().
    void save();

  private:
    /// A path with the time of day, as another process has another monotonic clock.
    struct Line {
        KnownPaths::Entry entry;
        std::int64_t measured = 0;  ///< ms since 1970
    };
    [[nodiscard]] std::vector<Line> read();
    [[nodiscard]] bool write(const std::string& text);
    void cannot(const char* what, int error);

    Log& log_;
    KnownPaths& paths_;
};

}  // namespace udtx::apps

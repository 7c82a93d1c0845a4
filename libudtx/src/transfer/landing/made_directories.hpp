// The directories of a tree that is being written. Their owner has all rights in them until everything below them is
// written. Then they get their final mode and time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/target_tree.hpp"

namespace udtx::transfer {

class MadeDirectories {
  public:
    /// `tree` must outlive this object.
    explicit MadeDirectories(TargetTree& tree) : tree_(tree), umask_bars_owner_(may_umask_bar_owner()) {}

    /// Stores mode and time for the destination itself. False: it keeps its own.
    bool take_top(const message::Entry& entry);
    enum class Stands { no, made, unchanged };
    /// Makes the directory, also in the place of another entry, and reports what became of it. `unchanged`: it existed
    /// with the mode and the time that it is to have.
    Stands make(const message::Entry& entry, const std::string& path);

    /// Call it at the end: finishes the directory that was made last. False: none is left.
    bool finish_next();
    /// Finishes all that are left, and those that were only opened up.
    void finish_all();
    /// Finishes the destination itself. Call it when nothing changes in it any more.
    void finish_top();

    [[nodiscard]] std::uint64_t held() const noexcept { return bytes_; }

  private:
    struct Made {
        std::string path;
        std::uint32_t mode = 0;
        FileTime mtime{};
    };
    [[nodiscard]] std::uint32_t mode_of(const message::Entry& entry) const noexcept;
    /// A directory as it is found.
    struct Found {
        std::uint32_t mode = 0;
        bool existed = false;
        bool has_time = false;  ///< it existed with the time of its entry
    };
    /// Returns 0 or an errno.
    int make_or_open(int parent, const SplitName& split, const message::Entry& entry, Found& found);
    /// Stores mode and time, which are set at the end.
    void remember(Made directory);
    void finish(const Made& directory);

    TargetTree& tree_;
    const bool umask_bars_owner_;
    std::vector<Made> made_;
    std::uint64_t bytes_ = 0;
    std::optional<Made> top_;
};

}  // namespace udtx::transfer

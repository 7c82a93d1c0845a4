// The directories of a tree that is being written: their owner has all rights in them until everything below them is
// there; then they get the mode and the time that they are to have.
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
    /// Outlives it.
    explicit MadeDirectories(TargetTree& tree) : tree_(tree) {}

    /// What belongs to the destination itself. False: it is to keep what it has.
    bool take_top(const message::Entry& entry);
    /// Also where something else stands. False: there is none, as was told.
    bool make(const message::Entry& entry, const std::string& path);

    /// At the end: the one that was made last is finished. False: none is left.
    bool finish_next();
    /// All that are left, and those that were only opened up.
    void finish_all();
    /// The destination itself, when nothing changes in it any more.
    void finish_top();

    [[nodiscard]] std::uint64_t held() const noexcept { return bytes_; }

  private:
    struct Made {
        std::string path;
        std::uint32_t mode = 0;
        FileTime mtime{};
    };
    [[nodiscard]] std::uint32_t mode_of(const message::Entry& entry) const noexcept;
    /// 0 or an errno; `before`: the mode of one that was there.
    int make_or_open(int parent, const SplitName& split, const message::Entry& entry, std::uint32_t& before);
    /// Its mode and time are to be set at the end.
    void remember(Made directory);
    void finish(const Made& directory);

    TargetTree& tree_;
    std::vector<Made> made_;
    std::uint64_t bytes_ = 0;
    std::optional<Made> top_;
};

}  // namespace udtx::transfer

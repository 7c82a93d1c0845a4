// Hard links that wait until all files have their names. A part of them waits in memory, and the rest in a file of the
// destination that has no name.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/disk_quota.hpp"
#include "transfer/landing/target_tree.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct WaitingLink {
    std::uint64_t index = 0;
    std::string path;
    std::string target;  ///< another name of the file
};

class WaitingLinks {
  public:
    /// `root` must outlive this object. `most`: the bytes of links in memory. `limits`: those of the file.
    WaitingLinks(const ConfinedDir& root, std::size_t most, RoomLimits limits)
        : root_(root), most_(most), limits_(std::move(limits)) {}

    /// file_io: there is too much for the memory, and the disk does not take it.
    Result<void> push(WaitingLink link);
    [[nodiscard]] bool empty() const noexcept { return in_memory_.empty() && read_ == written_ && tail_.empty(); }
    /// The one that waits longest; call it only if one waits. file_io: the rest cannot be read, and is dropped.
    Result<WaitingLink> pop();
    /// Bytes of memory held.
    [[nodiscard]] std::uint64_t held() const noexcept { return bytes_ + tail_.capacity(); }

  private:
    [[nodiscard]] static std::size_t bytes_of(const WaitingLink& link) noexcept;
    void keep(WaitingLink link);
    /// Writes what `tail_` has. Returns 0 or an errno.
    int write_tail();
    /// Reads links back until there are as many in memory as may be. Returns 0 or an errno.
    int read_some();
    /// Opens the file. Returns 0 or an errno.
    int open();
    /// Whether the limits allow the file to have so many bytes: 0 or an errno.
    int find_room(std::uint64_t bytes);
    void close();

    const ConfinedDir& root_;
    const std::size_t most_;
    const RoomLimits limits_;
    std::deque<WaitingLink> in_memory_;
    std::size_t bytes_ = 0;  // of in_memory_
    UniqueFd file_;
    std::unique_ptr<DiskQuota::Charge> charge_;  // of the file
    std::string tail_;                           // the latest records, which are not in the file yet
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
};

// Other names of files. They are made at the end, when the files have their final names. If the disk cannot give a file
// two names, the other name gets a copy.

class HardLinks {
  public:
    /// `tree` must outlive this object.
    explicit HardLinks(TargetTree& tree)
        : tree_(tree), waiting_(tree.root, tree.options.hard_link_bytes, tree.options.room) {}

    void add(const message::Entry& entry, const std::string& path);
    /// Call it when all files have their names: makes the next link or a part of a copy. False: none is left.
    bool go_on();
    /// Makes no more links. Counts those of the remaining names that exist already.
    void give_up();
    /// Removes a copy that was begun.
    void drop_copy();

    [[nodiscard]] std::uint64_t held() const noexcept { return waiting_.held(); }

  private:
    struct Copy {
        std::uint64_t index = 0;
        std::string path;
        FileAttributes attributes;
        std::uint64_t size = 0;
        int error_number = 0;  // why it is not a link
        UniqueFd from;
        TempFile file;
        std::uint64_t copied = 0;
    };
    void make(const WaitingLink& link);
    void begin_copy(const WaitingLink& link, const struct stat& of, int error_number);
    void copy_more();

    TargetTree& tree_;
    WaitingLinks waiting_;
    std::optional<Copy> copying_;
};

}  // namespace udtx::transfer

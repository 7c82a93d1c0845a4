// Other names of files. They are made at the end, when the files have their final names. If the disk cannot give a file
// two names, the other name gets a copy.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "transfer/landing/target_tree.hpp"
#include "transfer/landing/waiting_links.hpp"

namespace udtx::transfer {

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

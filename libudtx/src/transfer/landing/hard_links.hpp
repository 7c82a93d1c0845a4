// Other names of files. They are made at the end, when the files have their final names. If the disk cannot give a file
// two names, the other name gets a copy.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "transfer/landing/target_tree.hpp"

namespace udtx::transfer {

class HardLinks {
  public:
    /// `tree` must outlive this object.
    explicit HardLinks(TargetTree& tree) : tree_(tree) {}

    void add(const message::Entry& entry, const std::string& path);
    /// Call it when all files have their names: makes the next link or a part of a copy. False: none is left.
    bool go_on();
    /// Makes no more links. Counts those of the remaining names that exist already.
    void give_up();
    /// Removes a copy that was begun.
    void drop_copy();

    [[nodiscard]] std::uint64_t held() const noexcept { return bytes_; }

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
    void make(const message::Entry& entry);
    void begin_copy(const message::Entry& entry, const std::string& path, const struct stat& of, int error_number);
    void copy_more();

    TargetTree& tree_;
    std::deque<message::Entry> waiting_;
    std::size_t bytes_ = 0;
    std::optional<Copy> copying_;
};

}  // namespace udtx::transfer

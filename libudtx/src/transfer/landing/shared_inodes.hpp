// Changes of mode, time, owner and attributes of existing files that have several names. Names that are not of this
// transfer must keep what they have: a snapshot by hard links, or what a tool for equal files has linked. So the
// changes wait until all names of the transfer are known.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transfer/file/belongings.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class TargetTree;

/// What an existing entry is to get.
struct Change {
    std::optional<std::uint32_t> mode{};
    std::optional<FileTime> mtime{};
    std::optional<Owner> owner{};
    std::vector<message::Attribute> attributes{};
    bool all_attributes = false;          ///< it loses other attributes
    std::optional<struct stat> proven{};  ///< its content is what the sender has if it still has this state
};

/// For the writer's task.
class SharedInodes {
  public:
    /// `tree` must outlive this object.
    explicit SharedInodes(TargetTree& tree) : tree_(tree) {}

    /// Call it for each hard link of the transfer, before the first go_on().
    void note_link(const std::string& path, const std::string& target);
    /// Stores a change of a file with several names.
    void defer(const std::string& path, Change change);
    /// Call it when all files have their names, and before links are made: makes the next change. If the file has a
    /// name that is not of the transfer, a copy gets what changes and replaces it. False: none is left.
    bool go_on();
    /// True if the entry, open as `fd`, lacks something of the change.
    [[nodiscard]] bool differs(const std::string& path, int fd, const struct stat& st, const Change& change) const;
    /// Sets what differs on an entry that is open as `fd` and has no other names.
    void set(EntryType type, const std::string& path, int fd, const struct stat& st, const Change& change) const;

    [[nodiscard]] std::uint64_t held() const noexcept;

  private:
    void apply(const std::string& path, const Change& change);
    [[nodiscard]] Result<void> replace(const std::string& path, const Change& change, int fd, const struct stat& st);

    TargetTree& tree_;
    std::map<std::string, Change> waiting_;
    std::uint64_t bytes_ = 0;                                  // of waiting_
    std::unordered_map<std::uint64_t, std::uint32_t> linked_;  // other names that lead to it now, by path key
    std::uint64_t replaced_ = 0;
};

}  // namespace udtx::transfer

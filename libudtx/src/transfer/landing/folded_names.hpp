// The names that a sender has in directories whose file system may make something else of a name, and which entries
// there go by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transfer/file/naming.hpp"

namespace udtx::transfer {

/// An entry of a directory's listing.
struct ListedEntry {
    std::string name;
    EntryFacts facts;
};

/// Sent names that lead somewhere in a directory and are not in its listing.
class OtherwiseRead {
  public:
    /// `listed` is sorted by name.
    explicit OtherwiseRead(const std::vector<ListedEntry>& listed);
    void add(const std::string& path, const std::string& leaf, const EntryFacts& facts);
    /// The sent names that lead to an entry; of several names of one file, those of any.
    [[nodiscard]] std::vector<std::string> names_of(const ListedEntry& entry) const;
    /// Each leads to an entry that has its inode number.
    [[nodiscard]] bool all_numbered() const noexcept { return by_looks_.empty() && doubtful_.empty(); }
    /// Those of which nothing says where they lead: it might be any entry.
    [[nodiscard]] const std::vector<std::string>& doubtful() const noexcept { return doubtful_; }

  private:
    std::unordered_set<std::uint64_t> inodes_;  // of the listing ...
    std::unordered_set<std::uint64_t> looks_;   // ... and looks, with rough names
    std::unordered_multimap<std::uint64_t, std::string> by_inode_;
    std::unordered_multimap<std::uint64_t, std::string> by_looks_;
    std::vector<std::string> doubtful_;
};

class FoldedNames {
  public:
    void add(const std::string& directory, const std::string& leaf);
    /// There were more than it can hold.
    [[nodiscard]] bool full() const noexcept { return full_; }
    /// Of the directory behind the descriptor, which was sent under those names. `listed` is sorted by name.
    [[nodiscard]] OtherwiseRead read_otherwise(int fd, const std::vector<std::string>& directories,
                                               const std::vector<ListedEntry>& listed) const;

  private:
    std::unordered_map<std::uint64_t, std::vector<std::string>> leaves_;  // by path key of the directory
    std::size_t bytes_ = 0;
    bool full_ = false;
};

}  // namespace udtx::transfer

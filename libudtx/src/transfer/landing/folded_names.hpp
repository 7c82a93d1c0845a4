// The names that a sender has in directories whose file system may list them with another spelling, and the entries
// that they refer to there.
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

/// Sent names that exist in a directory but are missing in its listing: the file system lists them with another
/// spelling.
class OtherwiseRead {
  public:
    /// `listed` is sorted by name.
    explicit OtherwiseRead(const std::vector<ListedEntry>& listed);
    void add(const std::string& path, const std::string& leaf, const EntryFacts& facts);
    /// The sent names that refer to an entry. If a file has several names, those of any of them.
    [[nodiscard]] std::vector<std::string> names_of(const ListedEntry& entry) const;
    /// True if inode numbers identify the entry of each name.
    [[nodiscard]] bool all_numbered() const noexcept { return by_looks_.empty() && doubtful_.empty(); }
    /// Names whose entry is unknown: it might be any entry.
    [[nodiscard]] const std::vector<std::string>& doubtful() const noexcept { return doubtful_; }

  private:
    std::unordered_set<std::uint64_t> inodes_;  // inodes of the listing
    std::unordered_set<std::uint64_t> looks_;   // looks of the listing, with rough names
    std::unordered_multimap<std::uint64_t, std::string> by_inode_;
    std::unordered_multimap<std::uint64_t, std::string> by_looks_;
    std::vector<std::string> doubtful_;
};

class FoldedNames {
  public:
    void add(const std::string& directory, const std::string& leaf);
    /// True if the set overflowed: it has a limit of 64 MiB.
    [[nodiscard]] bool full() const noexcept { return full_; }
    /// The sent names that the directory at `fd` lists with another spelling. `directories` are the names under which
    /// the directory was sent. `listed` is sorted by name.
    [[nodiscard]] OtherwiseRead read_otherwise(int fd, const std::vector<std::string>& directories,
                                               const std::vector<ListedEntry>& listed) const;

  private:
    std::unordered_map<std::uint64_t, std::vector<std::string>> leaves_;  // by path key of the directory
    std::size_t bytes_ = 0;
    bool full_ = false;
};

}  // namespace udtx::transfer

// Records which entries a run delivered or kept, for file systems that may treat two names as one entry. The second of
// such names must not replace the entry of the first. No records are kept for directories whose file system keeps names
// apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/naming.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Any thread may use it. `directory` is the path of a directory below the root, and `parent` is its descriptor.
class EntryClaims {
  public:
    explicit EntryClaims(const ConfinedDir& root) : root_(root) {}

    /// True if the directory may treat two names as one entry or list a name with another spelling. False as long as
    /// the directory cannot be opened.
    [[nodiscard]] bool may_fold(const std::string& directory);
    /// Claims the existing entry of a name. False: there is no entry, or the file system keeps names apart. refused:
    /// another name has claimed the entry. A claim to replace the entry gives way to a name that keeps it. If the
    /// claiming name is listed with another spelling, its claim to replace also gives way to the name that is listed.
    enum class For : std::uint8_t { any, keeping };
    Result<bool> take(const std::string& path, For use = For::any);
    Result<bool> take(int parent, const std::string& directory, const std::string& leaf, For use = For::any);
    /// Records that the entry of that name stays.
    void note_kept(const std::string& path);
    /// Records that an entry was made under that name. `replaced`: it replaced the entry that the name had claimed.
    void note_made(int parent, const std::string& directory, const std::string& leaf, bool replaced);
    /// Records a directory that was made, and so was empty.
    void note_made_directory(int parent, const std::string& directory, const std::string& leaf);
    /// Records a directory that existed. Two names may share it.
    void take_directory(int parent, const std::string& directory, const std::string& leaf);
    /// True if the entry arrived or was kept in this run, whatever its name is.
    [[nodiscard]] bool holds(const EntryFacts& facts) const;

    /// Bytes of memory of all records, approximately.
    [[nodiscard]] std::uint64_t held() const;

  private:
    struct Place {
        std::uint64_t parent = 0;  // key of the directory
        std::uint64_t spot = 0;    // key of a name that was listed with this spelling before the run; otherwise 0
        std::uint64_t owner = 0;   // key of the path that was sent
        EntryFacts facts;
        bool keeps = false;
    };
    enum class How : std::uint8_t {
        taken,  // to be replaced
        kept,
        replaced,
        made,  // where no entry existed
    };
    struct Claim {
        std::uint64_t owner = 0;
        std::uint64_t spot = 0;
        How how = How::taken;
    };
    struct Alike {
        std::size_t all = 0;
        std::size_t otherwise = 0;  // those without a spot
    };
    struct Directory {
        std::string path;
        std::uint64_t number = 0;
        std::uint64_t rough = 0;
        bool spelled = false;  // its name was listed with this spelling before the run
    };
    [[nodiscard]] bool may_fold(int parent, const std::string& directory);
    /// Fills `place`. False: no entry exists there.
    bool look(int parent, const std::string& directory, const std::string& leaf, Place& place);
    [[nodiscard]] std::uint64_t identity(int parent, const std::string& directory) const;
    void list(int parent, std::uint64_t directory);
    [[nodiscard]] const Claim* other_claim(const Place& place, std::uint64_t key) const;
    [[nodiscard]] bool taken(int parent, const Place& place, const std::string& leaf);
    /// For file systems whose inode numbers do not identify entries. True: the entry looks like one that arrived under
    /// another name.
    [[nodiscard]] bool looks_taken(int parent, const Place& place, const std::string& leaf);
    [[nodiscard]] std::size_t alike_to(const Place& place, std::uint64_t looks) const;
    /// True if the entry may be one of the `alike` entries of this run that look the same under other names.
    [[nodiscard]] bool may_be_one_of(std::size_t alike, int parent, const Place& place, const std::string& leaf);
    /// True if an inode number identifies an entry: it is the same under all names of the entry, and no other entry has
    /// it. False: this is unknown.
    [[nodiscard]] bool is_numbered(int parent, const Place& place, const std::string& leaf);
    /// The directory of this run that is the same as this one. null: there is none.
    [[nodiscard]] const Directory* alias_of(int parent, const Place& place, const std::string& path);
    [[nodiscard]] const Directory* probe(const Place& place, const std::string& path) const;
    void record(const Place& place, const std::string& leaf, How how);
    void record(std::uint64_t key, const Claim& claim);
    void remember_directory(const Place& place, const std::string& leaf, std::string path);
    [[nodiscard]] static std::uint64_t by_inode(const EntryFacts& facts);
    [[nodiscard]] static std::uint64_t by_looks(const Place& place);
    [[nodiscard]] static std::uint64_t by_looks(const Place& place, const std::string& leaf);

    const ConfinedDir& root_;
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, bool> folding_;   // by path key of the directory
    std::unordered_set<std::uint64_t> listed_;          // directories whose names are in spots_
    std::unordered_set<std::uint64_t> spots_;           // names that were in them
    std::unordered_map<std::uint64_t, Claim> claims_;   // by inode; by looks too, since inodes may differ
    std::unordered_map<std::uint64_t, Alike> alike_;    // by looks without the name: entries that arrived or stay
    std::unordered_map<std::uint64_t, bool> numbered_;  // by directory
    std::map<std::string, std::string> aliases_;        // paths of directories, each to the first name of the directory
    std::uint64_t name_bytes_ = 0;                      // memory of the names in aliases_ and directories_
    std::multimap<std::uint64_t, Directory> directories_;  // of this run, by parent
    std::size_t looked_ = 0;                               // entries examined while searching look-alikes
    bool full_ = false;
};

/// The error that take() returns.
[[nodiscard]] Error falls_together(const std::string& path);

}  // namespace udtx::transfer

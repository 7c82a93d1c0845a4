// How the file system of a directory treats names. Some fold case, normalise accents or drop characters that they do
// not accept. Two names may then be one entry, or an entry may read differently from the name that created it.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// True if each name is an entry of its own and reads as it was given. False: it is not so, or unknown.
[[nodiscard]] bool keeps_names(int directory);

/// The attributes that distinguish an entry from others.
struct EntryFacts {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    mode_t type = 0;
    std::uint64_t size = 0;
    std::int64_t seconds = 0;  ///< modification time
    std::uint32_t nanoseconds = 0;
    std::uint32_t links = 0;
    [[nodiscard]] bool is_directory() const noexcept { return S_ISDIR(type); }
    [[nodiscard]] bool same_entry(const EntryFacts& other) const noexcept {
        return device == other.device && inode == other.inode;
    }
    /// True if both may be one file, judged by type, size and time. It is for file systems whose inode numbers prove
    /// nothing.
    [[nodiscard]] bool looks_like(const EntryFacts& other) const noexcept {
        return type == other.type && size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds;
    }
};
/// FUSE may cache the attributes for each name of an entry: `fresh` asks the file system again.
enum class Look : std::uint8_t { cached, fresh };
/// 0 or an errno.
[[nodiscard]] int look_at_entry(int directory, const char* name, EntryFacts& facts, Look look = Look::fresh);

/// Equal for names that a file system might treat as one. It hashes the ASCII letters and digits, in lower case,
/// without letters that carry an accent.
[[nodiscard]] std::uint64_t rough_name(std::string_view name);

// The names that a sender has in directories whose file system may list them with another spelling, and the entries
// that they refer to there.

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

// Records which entries a run delivered or kept, for file systems that may treat two names as one entry. The second of
// such names must not replace the entry of the first. No records are kept for directories whose file system keeps names
// apart.

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
    bool look(int parent, const std::string& directory, const std::string& leaf, Place& place) REQUIRES(mutex_);
    [[nodiscard]] std::uint64_t identity(int parent, const std::string& directory) const REQUIRES(mutex_);
    void list(int parent, std::uint64_t directory) REQUIRES(mutex_);
    [[nodiscard]] const Claim* other_claim(const Place& place, std::uint64_t key) const REQUIRES(mutex_);
    [[nodiscard]] bool taken(int parent, const Place& place, const std::string& leaf) REQUIRES(mutex_);
    /// For file systems whose inode numbers do not identify entries. True: the entry looks like one that arrived under
    /// another name.
    [[nodiscard]] bool looks_taken(int parent, const Place& place, const std::string& leaf) REQUIRES(mutex_);
    [[nodiscard]] std::size_t alike_to(const Place& place, std::uint64_t looks) const REQUIRES(mutex_);
    /// True if the entry may be one of the `alike` entries of this run that look the same under other names.
    [[nodiscard]] bool may_be_one_of(std::size_t alike, int parent, const Place& place, const std::string& leaf)
        REQUIRES(mutex_);
    /// True if an inode number identifies an entry: it is the same under all names of the entry, and no other entry has
    /// it. False: this is unknown.
    [[nodiscard]] bool is_numbered(int parent, const Place& place, const std::string& leaf) REQUIRES(mutex_);
    /// The directory of this run that is the same as this one. null: there is none.
    [[nodiscard]] const Directory* alias_of(int parent, const Place& place, const std::string& path) REQUIRES(mutex_);
    [[nodiscard]] const Directory* probe(const Place& place, const std::string& path) const REQUIRES(mutex_);
    void record(const Place& place, const std::string& leaf, How how) REQUIRES(mutex_);
    void record(std::uint64_t key, const Claim& claim) REQUIRES(mutex_);
    void remember_directory(const Place& place, const std::string& leaf, std::string path) REQUIRES(mutex_);
    [[nodiscard]] static std::uint64_t by_inode(const EntryFacts& facts);
    [[nodiscard]] static std::uint64_t by_looks(const Place& place);
    [[nodiscard]] static std::uint64_t by_looks(const Place& place, const std::string& leaf);

    const ConfinedDir& root_;
    mutable Mutex mutex_;
    std::unordered_map<std::uint64_t, bool> folding_ GUARDED_BY(mutex_);  // by path key of the directory
    std::unordered_set<std::uint64_t> listed_ GUARDED_BY(mutex_);         // directories whose names are in spots_
    std::unordered_set<std::uint64_t> spots_ GUARDED_BY(mutex_);          // names that were in them
    std::unordered_map<std::uint64_t, Claim> claims_
        GUARDED_BY(mutex_);  // by inode; by looks too, since inodes may differ
    std::unordered_map<std::uint64_t, Alike> alike_
        GUARDED_BY(mutex_);  // by looks without the name: entries that arrived or stay
    std::unordered_map<std::uint64_t, bool> numbered_ GUARDED_BY(mutex_);  // by directory
    std::map<std::string, std::string> aliases_
        GUARDED_BY(mutex_);                            // paths of directories, each to the first name of the directory
    std::uint64_t name_bytes_ GUARDED_BY(mutex_) = 0;  // memory of the names in aliases_ and directories_
    std::multimap<std::uint64_t, Directory> directories_ GUARDED_BY(mutex_);  // of this run, by parent
    std::size_t looked_ GUARDED_BY(mutex_) = 0;  // entries examined while searching look-alikes
    bool full_ GUARDED_BY(mutex_) = false;
};

/// The error that take() returns.
[[nodiscard]] Error falls_together(const std::string& path);

}  // namespace udtx::transfer

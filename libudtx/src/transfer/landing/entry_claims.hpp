// Which entries a run has delivered or kept, where a file system may take two names for one entry: the second of them
// must not replace what came under the first. Nothing is kept of directories whose file system keeps names apart.
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

/// Any thread. `directory` is the path of a directory below the root, `parent` its descriptor.
class EntryClaims {
  public:
    explicit EntryClaims(const ConfinedDir& root) : root_(root) {}

    /// Two names may be one entry there, or read otherwise. False as long as the directory cannot be opened.
    [[nodiscard]] bool may_fold(const std::string& directory);
    /// What stands under a name is this name's from now on. False: nothing does. refused: it is another name's. As long
    /// as a name that reads otherwise only took it, to replace it, the name that it reads as may still have it, or one
    /// that is to keep it.
    enum class For : std::uint8_t { any, keeping };
    Result<bool> take(const std::string& path, For use = For::any);
    Result<bool> take(int parent, const std::string& directory, const std::string& leaf, For use = For::any);
    /// What stands under the name is to stay.
    void note_kept(const std::string& path);
    /// Something was made under the name. `replaced`: in the place of what it had taken.
    void note_made(int parent, const std::string& directory, const std::string& leaf, bool replaced);
    /// A directory that was made, and so had nothing in it.
    void note_made_directory(int parent, const std::string& directory, const std::string& leaf);
    /// A directory that was there. Two names may share it.
    void take_directory(int parent, const std::string& directory, const std::string& leaf);
    /// It came or was kept in this run, under whatever name.
    [[nodiscard]] bool holds(const EntryFacts& facts) const;

    /// Memory of all of it, about.
    [[nodiscard]] std::uint64_t held() const;

  private:
    struct Place {
        std::uint64_t parent = 0;  // which directory
        std::uint64_t spot = 0;    // of a name that reads as it was given, before the run
        std::uint64_t owner = 0;   // of the name as it was sent
        EntryFacts facts;
        bool keeps = false;
    };
    enum class How : std::uint8_t {
        taken,  // to be replaced
        kept,
        replaced,
        made,  // where nothing was
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
        bool spelled = false;  // its name read as it was given, before the run
    };
    [[nodiscard]] bool may_fold(int parent, const std::string& directory);
    /// False: nothing stands there.
    bool look(int parent, const std::string& directory, const std::string& leaf, Place& place);
    [[nodiscard]] std::uint64_t identity(int parent, const std::string& directory) const;
    void list(int parent, std::uint64_t directory);
    [[nodiscard]] const Claim* other_claim(const Place& place, std::uint64_t key) const;
    [[nodiscard]] bool taken(int parent, const Place& place, const std::string& leaf);
    /// Where inode numbers do not say what an entry is: it looks like what came under another name.
    [[nodiscard]] bool looks_taken(int parent, const Place& place, const std::string& leaf);
    [[nodiscard]] std::size_t alike_to(const Place& place, std::uint64_t looks) const;
    /// As many of this run look the same, whatever their names.
    [[nodiscard]] bool may_be_one_of(std::size_t alike, int parent, const Place& place, const std::string& leaf);
    /// An entry has one inode number under all its names, and no other one has it. False: nobody knows.
    [[nodiscard]] bool is_numbered(int parent, const Place& place, const std::string& leaf);
    /// The directory of this run that this one is. null: none.
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
    std::unordered_set<std::uint64_t> listed_;          // directories
    std::unordered_set<std::uint64_t> spots_;           // names that stood in them
    std::unordered_map<std::uint64_t, Claim> claims_;   // by inode, and where those may differ for one entry by looks
    std::unordered_map<std::uint64_t, Alike> alike_;    // by looks, whatever the names, of what came or stays
    std::unordered_map<std::uint64_t, bool> numbered_;  // by directory
    std::map<std::string, std::string> aliases_;        // directories, to the first name of each
    std::uint64_t name_bytes_ = 0;                      // of those two names, and of directories_
    std::multimap<std::uint64_t, Directory> directories_;  // of this run, by parent
    std::size_t looked_ = 0;                               // entries, in searches among those that look the same
    bool full_ = false;
};

/// What take() says.
[[nodiscard]] Error falls_together(const std::string& path);

}  // namespace udtx::transfer

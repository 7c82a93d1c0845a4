#include "transfer/file/quirks/folded_names.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

#ifdef __linux__
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#endif

namespace udtx::transfer {

namespace {

#ifdef __linux__
constexpr long kXfs = 0x58465342;
constexpr long kF2fs = static_cast<long>(0xF2F52010UL);
constexpr long kBtrfs = static_cast<long>(0x9123683EUL);
/// File systems of Linux itself that keep names. FUSE, network file systems and those of other operating systems may
/// change names.
constexpr std::array<long, 6> kOwn{EXT4_SUPER_MAGIC, kXfs, kBtrfs, kF2fs, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
constexpr unsigned kFoldsCase = 0x40000000;  // FS_CASEFOLD_FL

/// xfs_fsop_geom_v1 up to its flags; the rest is padding.
struct XfsGeometry {
    std::array<char, 32 + 32 + 16 + 12> before{};
    std::uint32_t flags = 0;
    std::array<char, 16> after{};
};
static_assert(sizeof(XfsGeometry) == 112);
constexpr std::uint32_t kXfsFoldsCase = 1U << 13U;

bool folds_case(int directory, long type) {
    if (type == kXfs) {
        XfsGeometry geometry;
        return ::ioctl(directory, _IOR('X', 100, XfsGeometry), &geometry) != 0 || (geometry.flags & kXfsFoldsCase) != 0;
    }
    unsigned flags = 0;
    return ::ioctl(directory, FS_IOC_GETFLAGS, &flags) == 0 && (flags & kFoldsCase) != 0;
}
#endif

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// U+0300 to U+036F in UTF-8: an accent on the preceding letter.
bool is_accent(std::string_view rest) {
    if (rest.size() < 2) return false;
    const auto first = static_cast<unsigned char>(rest[0]);
    const auto second = static_cast<unsigned char>(rest[1]);
    return first == 0xCC || (first == 0xCD && second <= 0xAF);
}

constexpr std::size_t kMaxBytes = 64U << 20U;

bool is_listed(const std::vector<ListedEntry>& listed, const std::string& name) {
    const auto at = std::lower_bound(listed.begin(), listed.end(), name,
                                     [](const ListedEntry& entry, const std::string& n) { return entry.name < n; });
    return at != listed.end() && at->name == name;
}

std::uint64_t inode_key(const EntryFacts& facts) { return key_of({facts.device, facts.inode}); }

std::uint64_t looks_key(const std::string& leaf, const EntryFacts& facts) {
    return key_of(
        {rough_name(leaf), facts.type, facts.size, static_cast<std::uint64_t>(facts.seconds), facts.nanoseconds});
}

// Together about 200 MB.
constexpr std::size_t kMaxClaims = 2U << 20U;
constexpr std::size_t kMaxSpots = 2U << 20U;
constexpr std::uint64_t kMaxNameBytes = 64U << 20U;  // for the names of directories that are stored
constexpr std::uint64_t kNodeBytes = 128;            // memory of a name besides its letters
constexpr std::size_t kMaxAlike = 256;               // the most look-alikes among which an entry is searched
constexpr std::size_t kMaxLooked = 1U << 18U;        // entries examined in such searches: some seconds of work
constexpr int kMaxAliasProbes = 64;                  // probes for one directory

std::uint64_t spot_of(std::uint64_t directory, const std::string& leaf) { return key_of({directory, path_key(leaf)}); }

}  // namespace

bool keeps_names(int directory) {
#ifdef __linux__
    struct statfs system = {};
    if (::fstatfs(directory, &system) != 0) return false;
    const auto type = static_cast<long>(system.f_type);
    return std::find(kOwn.begin(), kOwn.end(), type) != kOwn.end() && !folds_case(directory, type);
#else
    static_cast<void>(directory);
    return false;
#endif
}

int look_at_entry(int directory, const char* name, EntryFacts& facts, Look look) {
#if defined(__linux__) && defined(AT_STATX_FORCE_SYNC)
    struct statx found = {};
    const int flags = AT_SYMLINK_NOFOLLOW | (look == Look::fresh ? AT_STATX_FORCE_SYNC : 0);
    if (::statx(directory, name, flags, STATX_BASIC_STATS, &found) == 0) {
        facts = {(static_cast<std::uint64_t>(found.stx_dev_major) << 32U) | found.stx_dev_minor,
                 found.stx_ino,
                 static_cast<mode_t>(found.stx_mode & S_IFMT),
                 found.stx_size,
                 found.stx_mtime.tv_sec,
                 found.stx_mtime.tv_nsec,
                 found.stx_nlink};
        return 0;
    }
    return errno;
#else
    static_cast<void>(look);
    struct stat found = {};
    if (::fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    facts = {static_cast<std::uint64_t>(found.st_dev),
             static_cast<std::uint64_t>(found.st_ino),
             static_cast<mode_t>(found.st_mode & S_IFMT),
             static_cast<std::uint64_t>(found.st_size),
             found.st_mtim.tv_sec,
             static_cast<std::uint32_t>(found.st_mtim.tv_nsec),
             static_cast<std::uint32_t>(found.st_nlink)};
    return 0;
#endif
}

std::uint64_t rough_name(std::string_view name) {
    std::string rough;
    bool letter = false;  // the preceding character was one
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (letter && is_accent(name.substr(i))) rough.pop_back();
        letter = is_letter(c);
        if (letter) rough += static_cast<char>(c | 0x20);
        if (is_digit(c)) rough += c;
    }
    return path_key(rough);
}

OtherwiseRead::OtherwiseRead(const std::vector<ListedEntry>& listed) {
    for (const ListedEntry& entry : listed) {
        inodes_.insert(inode_key(entry.facts));
        looks_.insert(looks_key(entry.name, entry.facts));
    }
}

void OtherwiseRead::add(const std::string& path, const std::string& leaf, const EntryFacts& facts) {
    const std::uint64_t inode = inode_key(facts);
    const std::uint64_t looks = looks_key(leaf, facts);
    if (inodes_.count(inode) > 0) {
        by_inode_.emplace(inode, path);
    } else if (looks_.count(looks) > 0) {
        // Inode numbers may depend on the name, as in FUSE.
        by_looks_.emplace(looks, path);
    } else {
        doubtful_.push_back(path);
    }
}

std::vector<std::string> OtherwiseRead::names_of(const ListedEntry& entry) const {
    std::vector<std::string> out;
    if (by_inode_.empty() && by_looks_.empty()) return out;
    const auto [first, last] = by_inode_.equal_range(inode_key(entry.facts));
    for (auto at = first; at != last; ++at) out.push_back(at->second);
    const auto [like, end] = by_looks_.equal_range(looks_key(entry.name, entry.facts));
    for (auto at = like; at != end; ++at) out.push_back(at->second);
    return out;
}

void FoldedNames::add(const std::string& directory, const std::string& leaf) {
    bytes_ += sizeof(std::string) + leaf.size();
    full_ = full_ || bytes_ > kMaxBytes;
    if (!full_) leaves_[path_key(directory)].push_back(leaf);
}

OtherwiseRead FoldedNames::read_otherwise(int fd, const std::vector<std::string>& directories,
                                          const std::vector<ListedEntry>& listed) const {
    OtherwiseRead out(listed);
    for (const std::string& directory : directories) {
        const auto sent = leaves_.find(path_key(directory));
        if (sent == leaves_.end()) continue;
        for (const std::string& leaf : sent->second) {
            EntryFacts facts;
            if (is_listed(listed, leaf) || look_at_entry(fd, leaf.c_str(), facts) != 0) continue;
            out.add(path_in(directory, leaf), leaf, facts);
        }
    }
    return out;
}

Error falls_together(const std::string& path) {
    return {ErrorCode::refused,
            "'" + escape_name(path) +
                "' and another name of this transfer are the same on the receiver's file system: rename one of them"};
}

std::uint64_t EntryClaims::by_inode(const EntryFacts& facts) { return key_of({1, facts.device, facts.inode}); }

std::uint64_t EntryClaims::by_looks(const Place& place) {
    return key_of({2, place.parent, place.facts.type, place.facts.size, static_cast<std::uint64_t>(place.facts.seconds),
                   place.facts.nanoseconds});
}

std::uint64_t EntryClaims::by_looks(const Place& place, const std::string& leaf) {
    return key_of({by_looks(place), rough_name(leaf)});
}

bool EntryClaims::may_fold(const std::string& directory) {
    {
        const Lock lock(mutex_);
        const auto known = folding_.find(path_key(directory));
        if (known != folding_.end()) return known->second;
    }
    const UniqueFd fd = root_.open_directory(directory).fd;
    return fd && may_fold(fd.get(), directory);
}

bool EntryClaims::may_fold(int parent, const std::string& directory) {
    const std::uint64_t key = path_key(directory);
    const Lock lock(mutex_);
    const auto known = folding_.find(key);
    if (known != folding_.end()) return known->second;
    const bool folds = !keeps_names(parent);
    if (folding_.size() < kMaxClaims) folding_[key] = folds;
    return folds;
}

std::uint64_t EntryClaims::identity(int parent, const std::string& directory) const {
    EntryFacts facts;
    const auto alias = aliases_.find(directory);
    const UniqueFd first = alias == aliases_.end() ? UniqueFd() : root_.open_directory(alias->second).fd;
    static_cast<void>(look_at_entry(first ? first.get() : parent, ".", facts));
    return by_inode(facts);
}

void EntryClaims::list(int parent, std::uint64_t directory) {
    if (listed_.size() >= kMaxClaims || !listed_.insert(directory).second) return;
    int error = 0;
    for (const std::string& name : names_in(parent, error)) {
        if (spots_.size() < kMaxSpots) spots_.insert(spot_of(directory, name));
    }
}

bool EntryClaims::look(int parent, const std::string& directory, const std::string& leaf, Place& place) {
    place.parent = identity(parent, directory);
    list(parent, place.parent);
    place.owner = path_key(path_in(directory, leaf));
    if (look_at_entry(parent, leaf.c_str(), place.facts) != 0) return false;
    const std::uint64_t spot = spot_of(place.parent, leaf);
    place.spot = spots_.count(spot) > 0 ? spot : 0;
    return true;
}

const EntryClaims::Claim* EntryClaims::other_claim(const Place& place, std::uint64_t key) const {
    const auto found = claims_.find(key);
    if (found == claims_.end() || found->second.owner == place.owner) return nullptr;
    const Claim& claim = found->second;
    // An entry that is to be replaced gives way to a name that keeps it.
    if (place.keeps && claim.how == How::taken) return nullptr;
    if (place.spot == 0) return &claim;
    // Two listed names, or one from before the run and one made now, are different names of one file.
    if (claim.spot != 0) return claim.spot == place.spot ? &claim : nullptr;
    return claim.how == How::made || claim.how == How::taken ? nullptr : &claim;
}

bool EntryClaims::taken(int parent, const Place& place, const std::string& leaf) {
    if (other_claim(place, by_inode(place.facts)) != nullptr) return true;
    if (full_ && place.spot == 0) return true;
    return looks_taken(parent, place, leaf);
}

bool EntryClaims::looks_taken(int parent, const Place& place, const std::string& leaf) {
    const std::uint64_t looks = by_looks(place, leaf);
    const bool same_name = other_claim(place, looks) != nullptr;
    const std::size_t alike = alike_to(place, looks);
    if (!same_name && (alike == 0 || alike > kMaxAlike || looked_ > kMaxLooked)) return false;
    if (is_numbered(parent, place, leaf)) return false;
    return same_name || may_be_one_of(alike, parent, place, leaf);
}

std::size_t EntryClaims::alike_to(const Place& place, std::uint64_t looks) const {
    const auto found = alike_.find(by_looks(place));
    if (found == alike_.end()) return 0;
    const auto own = claims_.find(looks);
    const bool counted = own != claims_.end() && own->second.owner == place.owner && own->second.how != How::taken;
    // Two names that are listed with their spelling are two entries.
    if (place.spot != 0) return found->second.otherwise - (counted && own->second.spot == 0 ? 1U : 0U);
    return found->second.all - (counted ? 1U : 0U);
}

bool EntryClaims::may_be_one_of(std::size_t alike, int parent, const Place& place, const std::string& leaf) {
    // False if one more look-alike with a similar name exists, and was there before the run.
    const std::uint64_t rough = rough_name(leaf);
    std::size_t entries = 0;
    bool other = false;
    int error = 0;
    for (const std::string& name : names_in(parent, error)) {
        EntryFacts facts;
        ++looked_;
        if (look_at_entry(parent, name.c_str(), facts) != 0 || !facts.looks_like(place.facts)) continue;
        ++entries;
        other = other || (rough_name(name) == rough && spots_.count(spot_of(place.parent, name)) > 0);
    }
    return !other || entries <= alike;
}

bool EntryClaims::is_numbered(int parent, const Place& place, const std::string& leaf) {
    const auto known = numbered_.find(place.parent);
    if (known != numbered_.end()) return known->second;
    std::size_t same = 0;
    std::size_t differ = 0;
    int error = 0;
    for (const std::string& name : names_in(parent, error)) {
        EntryFacts facts;
        // An entry that is listed with the name asked for says nothing about other entries.
        if (name == leaf) return false;
        ++looked_;
        if (look_at_entry(parent, name.c_str(), facts) != 0 || !facts.same_entry(place.facts)) continue;
        ++(facts.looks_like(place.facts) ? same : differ);
    }
    const bool numbered = same > 0 && differ == 0;
    if (numbered_.size() < kMaxClaims) numbered_[place.parent] = numbered;
    return numbered;
}

void EntryClaims::record(std::uint64_t key, const Claim& claim) {
    if (claims_.size() < kMaxClaims || claims_.count(key) > 0) {
        claims_[key] = claim;
    } else {
        full_ = true;
    }
}

void EntryClaims::record(const Place& place, const std::string& leaf, How how) {
    const Claim claim{place.owner, place.spot, how};
    record(by_inode(place.facts), claim);
    if (place.facts.is_directory()) return;
    const std::uint64_t looks = by_looks(place, leaf);
    const auto before = claims_.find(looks);
    const bool counted =
        before != claims_.end() && before->second.owner == claim.owner && before->second.how != How::taken;
    const bool counts = how != How::taken && !counted;
    if (const std::uint64_t key = by_looks(place); counts && (alike_.size() < kMaxClaims || alike_.count(key) > 0)) {
        Alike& alike = alike_[key];
        ++alike.all;
        alike.otherwise += claim.spot == 0 ? 1U : 0U;
    }
    record(looks, claim);
}

Result<bool> EntryClaims::take(const std::string& path, For use) {
    const SplitName split = split_leaf(path);
    if (!may_fold(split.directory)) return false;
    const UniqueFd parent = root_.open_directory(split.directory).fd;
    return parent ? take(parent.get(), split.directory, split.leaf, use) : Result<bool>(false);
}

Result<bool> EntryClaims::take(int parent, const std::string& directory, const std::string& leaf, For use) {
    if (!may_fold(parent, directory)) return false;
    const Lock lock(mutex_);
    Place place;
    if (!look(parent, directory, leaf, place)) return false;
    place.keeps = use == For::keeping;
    const std::string path = path_in(directory, leaf);
    const bool ours = place.facts.is_directory() && alias_of(parent, place, path) != nullptr;
    if (ours || taken(parent, place, leaf)) return falls_together(path);
    record(place, leaf, How::taken);
    return true;
}

void EntryClaims::note_kept(const std::string& path) {
    const SplitName split = split_leaf(path);
    if (!may_fold(split.directory)) return;
    const UniqueFd parent = root_.open_directory(split.directory).fd;
    const Lock lock(mutex_);
    Place place;
    if (parent && look(parent.get(), split.directory, split.leaf, place)) record(place, split.leaf, How::kept);
}

void EntryClaims::note_made(int parent, const std::string& directory, const std::string& leaf, bool replaced) {
    if (!may_fold(parent, directory)) return;
    const Lock lock(mutex_);
    Place place;
    if (look(parent, directory, leaf, place)) record(place, leaf, replaced ? How::replaced : How::made);
}

void EntryClaims::remember_directory(const Place& place, const std::string& leaf, std::string path) {
    const std::uint64_t bytes = path.size() + kNodeBytes;
    if (name_bytes_ + bytes > kMaxNameBytes) return;
    name_bytes_ += bytes;
    directories_.emplace(place.parent, Directory{.path = std::move(path),
                                                 .number = by_inode(place.facts),
                                                 .rough = rough_name(leaf),
                                                 .spelled = place.spot != 0});
}

void EntryClaims::note_made_directory(int parent, const std::string& directory, const std::string& leaf) {
    if (!may_fold(parent, directory)) return;
    const Lock lock(mutex_);
    Place place;
    if (!look(parent, directory, leaf, place)) return;
    record(place, leaf, How::made);
    if (listed_.size() < kMaxClaims) listed_.insert(by_inode(place.facts));
    remember_directory(place, leaf, path_in(directory, leaf));
}

void EntryClaims::take_directory(int parent, const std::string& directory, const std::string& leaf) {
    if (!may_fold(parent, directory)) return;
    const Lock lock(mutex_);
    Place place;
    if (!look(parent, directory, leaf, place) || !place.facts.is_directory()) return;
    const std::string path = path_in(directory, leaf);
    if (const Directory* first = alias_of(parent, place, path)) {
        const std::uint64_t bytes = path.size() + first->path.size() + kNodeBytes;
        if (name_bytes_ + bytes > kMaxNameBytes || !aliases_.emplace(path, first->path).second) return;
        name_bytes_ += bytes;
        return;
    }
    record(place, leaf, How::kept);
    remember_directory(place, leaf, path);
}

const EntryClaims::Directory* EntryClaims::alias_of(int parent, const Place& place, const std::string& path) {
    const auto [first, last] = directories_.equal_range(place.parent);
    if (first == last) return nullptr;
    if (place.spot != 0 || !is_numbered(parent, place, split_leaf(path).leaf)) return probe(place, path);
    const auto is_this = [&](const auto& known) {
        return known.second.path != path && known.second.number == by_inode(place.facts);
    };
    const auto found = std::find_if(first, last, is_this);
    return found == last ? nullptr : &found->second;
}

const EntryClaims::Directory* EntryClaims::probe(const Place& place, const std::string& path) const {
    const std::uint64_t rough = rough_name(split_leaf(path).leaf);
    std::vector<const Directory*> likely;
    std::vector<const Directory*> others;
    const auto [first, last] = directories_.equal_range(place.parent);
    for (auto at = first; at != last; ++at) {
        const Directory& known = at->second;
        // Two names that are listed with their spelling are two directories.
        if (known.path == path || (place.spot != 0 && known.spelled)) continue;
        (known.rough == rough ? likely : others).push_back(&known);
    }
    if (likely.empty() && others.empty()) return nullptr;
    const UniqueFd here = root_.open_directory(path).fd;
    if (!here) return nullptr;
    // A file that is made in one directory appears in the other if both are the same.
    const std::string name = temp_name(key_of({static_cast<std::uint64_t>(::getpid()), path_key(path)}));
    const UniqueFd made(
        open_entry(here.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return likely.empty() ? nullptr : likely.front();
    likely.insert(likely.end(), others.begin(), others.end());
    if (likely.size() > kMaxAliasProbes) likely.resize(kMaxAliasProbes);
    const auto shows = [&](const Directory* known) {
        EntryFacts facts;
        const UniqueFd other = root_.open_directory(known->path).fd;
        return other && look_at_entry(other.get(), name.c_str(), facts) == 0;
    };
    const auto found = std::find_if(likely.begin(), likely.end(), shows);
    ::unlinkat(here.get(), name.c_str(), 0);
    return found == likely.end() ? nullptr : *found;
}

std::uint64_t EntryClaims::held() const {
    const Lock lock(mutex_);
    const std::size_t numbers = folding_.size() + listed_.size() + spots_.size() + numbered_.size();
    return name_bytes_ + numbers * 40 + claims_.size() * 56 + alike_.size() * 48;
}

bool EntryClaims::holds(const EntryFacts& facts) const {
    const Lock lock(mutex_);
    const auto found = claims_.find(by_inode(facts));
    // An entry that was to be replaced may be gone, and its inode number may be another entry's now.
    return found != claims_.end() && found->second.how != How::taken;
}

}  // namespace udtx::transfer

#include "transfer/landing/entry_claims.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Together some 200 MB.
constexpr std::size_t kMaxClaims = 2U << 20U;
constexpr std::size_t kMaxSpots = 2U << 20U;
constexpr std::size_t kMaxDirectories = 256U << 10U;  // whose names are remembered
constexpr int kMaxAliasProbes = 16;                   // for one directory

std::uint64_t spot_of(std::uint64_t directory, const std::string& leaf) { return key_of({directory, path_key(leaf)}); }

/// What is made in one shows in the other.
bool is_one_directory(int one, int other) {
    const std::string probe = temp_name(static_cast<std::uint64_t>(::getpid()));
    const UniqueFd made(::openat(one, probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return false;
    EntryFacts facts;
    const bool shows = look_at_entry(other, probe.c_str(), facts) == 0;
    ::unlinkat(one, probe.c_str(), 0);
    return shows;
}

}  // namespace

Error falls_together(const std::string& path) {
    return {ErrorCode::refused,
            "'" + escape_name(path) +
                "' is the same name as another one of this transfer to the receiver's file system, which does not tell "
                "them apart: give one of them another name"};
}

std::uint64_t EntryClaims::by_inode(const EntryFacts& facts) { return key_of({1, facts.device, facts.inode}); }

std::uint64_t EntryClaims::by_looks(const Place& place, const std::string& leaf) {
    return key_of({2, place.parent, rough_name(leaf), place.facts.type, place.facts.size,
                   static_cast<std::uint64_t>(place.facts.seconds), place.facts.nanoseconds});
}

bool EntryClaims::may_fold(const std::string& directory) {
    {
        const std::lock_guard lock(mutex_);
        const auto known = folding_.find(path_key(directory));
        if (known != folding_.end()) return known->second;
    }
    int error = 0;
    const UniqueFd fd = root_.open_directory(directory, error);
    return fd && may_fold(fd.get(), directory);
}

bool EntryClaims::may_fold(int parent, const std::string& directory) {
    const std::uint64_t key = path_key(directory);
    const std::lock_guard lock(mutex_);
    const auto known = folding_.find(key);
    if (known != folding_.end()) return known->second;
    const bool folds = !keeps_names(parent);
    if (folding_.size() < kMaxClaims) folding_[key] = folds;
    return folds;
}

std::uint64_t EntryClaims::identity(int parent, const std::string& directory) const {
    int ignored = 0;
    EntryFacts facts;
    const auto alias = aliases_.find(directory);
    const UniqueFd first = alias == aliases_.end() ? UniqueFd() : root_.open_directory(alias->second, ignored);
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
    // What is to be replaced gives way to what is to stay.
    if (place.keeps && claim.how == How::taken) return nullptr;
    if (place.spot == 0) return &claim;
    // Two entries of a directory, or one of before and one of now: names of one file.
    if (claim.spot != 0) return claim.spot == place.spot ? &claim : nullptr;
    return claim.how == How::made || claim.how == How::taken ? nullptr : &claim;
}

bool EntryClaims::taken(int parent, const Place& place, const std::string& leaf) {
    if (other_claim(place, by_inode(place.facts)) != nullptr) return true;
    if (full_ && place.spot == 0) return true;
    if (place.facts.is_directory() || other_claim(place, by_looks(place, leaf)) == nullptr) return false;
    // Somebody's who looks the same. Where an entry has one number under all its names, it is another one.
    int error = 0;
    for (const std::string& name : names_in(parent, error)) {
        EntryFacts facts;
        if (name == leaf || look_at_entry(parent, name.c_str(), facts) != 0) continue;
        if (facts.same_entry(place.facts)) return false;
    }
    return true;
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
    if (!place.facts.is_directory()) record(by_looks(place, leaf), claim);
}

Result<bool> EntryClaims::take(const std::string& path, For use) {
    const SplitName split = split_leaf(path);
    if (!may_fold(split.directory)) return false;
    int error = 0;
    const UniqueFd parent = root_.open_directory(split.directory, error);
    return parent ? take(parent.get(), split.directory, split.leaf, use) : Result<bool>(false);
}

Result<bool> EntryClaims::take(int parent, const std::string& directory, const std::string& leaf, For use) {
    if (!may_fold(parent, directory)) return false;
    const std::lock_guard lock(mutex_);
    Place place;
    if (!look(parent, directory, leaf, place)) return false;
    place.keeps = use == For::keeping;
    if (taken(parent, place, leaf)) return falls_together(path_in(directory, leaf));
    record(place, leaf, How::taken);
    return true;
}

void EntryClaims::note_kept(const std::string& path) {
    const SplitName split = split_leaf(path);
    if (!may_fold(split.directory)) return;
    int error = 0;
    const UniqueFd parent = root_.open_directory(split.directory, error);
    const std::lock_guard lock(mutex_);
    Place place;
    if (parent && look(parent.get(), split.directory, split.leaf, place)) record(place, split.leaf, How::kept);
}

void EntryClaims::note_made(int parent, const std::string& directory, const std::string& leaf, bool replaced) {
    if (!may_fold(parent, directory)) return;
    const std::lock_guard lock(mutex_);
    Place place;
    if (look(parent, directory, leaf, place)) record(place, leaf, replaced ? How::replaced : How::made);
}

std::uint64_t EntryClaims::rough_key(const Place& place, const std::string& leaf) {
    return key_of({place.parent, rough_name(leaf)});
}

void EntryClaims::remember_directory(const Place& place, const std::string& leaf, std::string path) {
    if (rough_.size() >= kMaxDirectories) return;
    rough_.emplace(rough_key(place, leaf), Directory{std::move(path), place.spot != 0});
}

void EntryClaims::note_made_directory(int parent, const std::string& directory, const std::string& leaf) {
    if (!may_fold(parent, directory)) return;
    const std::lock_guard lock(mutex_);
    Place place;
    if (!look(parent, directory, leaf, place)) return;
    record(place, leaf, How::made);
    if (listed_.size() < kMaxClaims) listed_.insert(by_inode(place.facts));
    remember_directory(place, leaf, path_in(directory, leaf));
}

void EntryClaims::take_directory(int parent, const std::string& directory, const std::string& leaf) {
    if (!may_fold(parent, directory)) return;
    const std::lock_guard lock(mutex_);
    Place place;
    if (!look(parent, directory, leaf, place) || !place.facts.is_directory()) return;
    const std::string path = path_in(directory, leaf);
    int error = 0;
    const UniqueFd here = root_.open_directory(path, error);
    int probes = 0;
    const auto is_this = [&](const auto& known) {
        if (!here || known.second.path == path || (place.spot != 0 && known.second.spelled)) return false;
        const UniqueFd other = root_.open_directory(known.second.path, error);
        return other && probes++ < kMaxAliasProbes && is_one_directory(here.get(), other.get());
    };
    const auto [first, last] = rough_.equal_range(rough_key(place, leaf));
    if (const auto found = std::find_if(first, last, is_this); found != last) {
        aliases_[path] = found->second.path;
        return;
    }
    record(place, leaf, How::kept);
    remember_directory(place, leaf, path);
}

bool EntryClaims::holds(const EntryFacts& facts) const {
    const std::lock_guard lock(mutex_);
    return claims_.count(by_inode(facts)) > 0;
}

}  // namespace udtx::transfer

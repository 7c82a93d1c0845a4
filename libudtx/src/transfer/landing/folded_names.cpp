#include "transfer/landing/folded_names.hpp"

#include <algorithm>

#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

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

}  // namespace

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

}  // namespace udtx::transfer

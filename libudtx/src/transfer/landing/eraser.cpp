#include "transfer/landing/eraser.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

// Each level holds a descriptor.
constexpr std::size_t kMaxEraseDepth = kMaxDepth;
constexpr std::size_t kMaxTops = 65536;
constexpr const char* kIsMountPoint = "is not deleted: it is a mount point";

using Unknown = std::function<void(const std::string& name, int error_number)>;

/// Stops early if there is no time to continue.
std::vector<ListedEntry> entries_of(int directory, const std::vector<std::string>& names, Look look,
                                    const Unknown& unknown, Report& report) {
    std::vector<ListedEntry> out;
    for (const std::string& name : names) {
        if (!report.checked(0)) break;
        ListedEntry entry{name, {}};
        const int error = look_at_entry(directory, name.c_str(), entry.facts, look);
        if (error == 0) {
            out.push_back(std::move(entry));
        } else if (error != ENOENT) {
            unknown(name, error);
        }
    }
    return out;
}

Error in_doubt(const std::string& path, const std::string& other) {
    return {ErrorCode::refused, "'" + escape_name(path) + "' is not deleted: it may be '" + escape_name(other) +
                                    "', because this file system changes names"};
}

Error refusal(const std::string& path, const char* why) {
    return {ErrorCode::refused, "'" + escape_name(path) + "' " + why};
}

bool is_own(int directory) {
    struct stat st = {};
    return ::fstat(directory, &st) == 0 && st.st_uid == ::geteuid();
}

Error in_the_way(const std::string& path, const std::string& how) {
    return {ErrorCode::refused, "a directory has the name of '" + escape_name(path) + "', and " + how};
}

int rename_entry(int parent, const std::string& from, const std::string& to) {
    return again([&] { return ::renameat(parent, from.c_str(), parent, to.c_str()); }) == 0 ? 0 : errno;
}

int swap_names(int parent, const std::string& one, const std::string& other) {
#if defined(__linux__) && defined(RENAME_EXCHANGE)
    return again([&] { return ::renameat2(parent, one.c_str(), parent, other.c_str(), RENAME_EXCHANGE); }) == 0 ? 0
                                                                                                                : errno;
#else
    return ENOSYS;
#endif
}

}  // namespace

void Eraser::keep_unsent(const std::string& path) {
    names_.add(path);
    const SplitName split = split_leaf(path);
    if (claims_.may_fold(split.directory)) folded_.add(split.directory, split.leaf);
}

void Eraser::keep(const std::string& path, bool directory) {
    keep_unsent(path);
    if (directory) directories_.add(path);
    const bool top = path.find('/') == std::string::npos;
    if (directory && top && tops_.size() < kMaxTops) tops_.push_back(path);
    nothing_sent_ = nothing_sent_ && directory && top;
}

Result<void> Eraser::add(const message::Rules& rules) {
    contents_ = contents_ || rules.contents;
    for (const FilterRule& rule : rules.rules) {
        if (auto added = rules_.add(rule); !added) return Error{ErrorCode::protocol, added.error().message};
        static_cast<void>(small_rules_.add({rule.include, in_lower_case(rule.pattern)}));
    }
    return {};
}

Result<void> Eraser::begin() {
    if (nothing_sent_ && (!contents_ || tops_.empty())) {
        return Error{ErrorCode::refused, "nothing is deleted, because the sources are empty"};
    }
    if (names_.full() || directories_.full() || folded_.full() || tops_.size() == kMaxTops) {
        return Error{ErrorCode::refused, "nothing is deleted, because there are too many names to compare"};
    }
    if (contents_ || claims_.may_fold("")) {
        waiting_.push_back({""});
    } else {
        for (const std::string& top : tops_) waiting_.push_back({top});
    }
    return {};
}

bool Eraser::go_on() {
    if (!report_.checked(0)) return false;
    if (!emptying_.empty()) {
        empty_more();
    } else if (looking_ && looking_->next < looking_->listed.size()) {
        look_at_next(*looking_);
    } else if (!waiting_.empty()) {
        Spellings next = std::move(waiting_.back());
        waiting_.pop_back();
        look_through(std::move(next));
    } else {
        return false;
    }
    return true;
}

Result<void> Eraser::may_clear(const std::string& path) {
    const SplitName split = split_leaf(path);
    auto [parent, error] = root_.open_directory(split.directory);
    if (!parent) return io_error("cannot open", split.directory, error);
    folds_ = claims_.may_fold(split.directory);
    return may_go(parent.get(), split.leaf, path, 0);
}

Result<void> Eraser::may_go(int parent, const std::string& name, const std::string& path, std::size_t depth) {
    struct stat st = {};
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? Result<void>() : io_error("cannot examine", path, errno);
    }
    const bool directory = S_ISDIR(st.st_mode);
    if (is_transfer_file(name) && !directory) return refusal(path, "belongs to a transfer");
    const bool excluded = is_protected(name, path, directory);
    if (excluded && depth > 0) return refusal(path, "is excluded");
    if (depth > 0 && has_come(parent, name)) return in_doubt(path, path);
    if (is_mount_point(parent, name)) return refusal(path, kIsMountPoint);
    if (const int error = bars_removal(parent, name); error != 0) return io_error("cannot delete", path, error);
    if (!directory) return {};
    UniqueFd fd;
    std::vector<std::string> names;
    int error = depth < kMaxEraseDepth ? list(parent, name, path, fd, names) : ELOOP;
    // An empty directory is always replaced.
    if (excluded && error == 0 && !names.empty()) return refusal(path, "is excluded");
    if (error == 0 && !names.empty()) error = lacks_rights(fd.get(), path);
    if (error != 0) return io_error("cannot delete", path, error);
    for (const std::string& inside : names) {
        if (!report_.checked(0)) return refusal(path, "is large, and the time is over");
        if (auto goes = may_go(fd.get(), inside, path_in(path, inside), depth + 1); !goes) return goes;
    }
    return {};
}

Cleared Eraser::clear(int parent, const std::string& leaf, const std::string& path) {
    const std::size_t before = erased_;
    folds_ = claims_.may_fold(split_leaf(path).directory);
    bool gone = begin_emptying(parent, leaf, "", path);
    while (!emptying_.empty()) {
        if (!report_.checked(0)) {
            emptying_.clear();
            gone = false;
            break;
        }
        empty_more();
        gone = emptied_;
    }
    if (gone && !dry_run() && ::unlinkat(parent, leaf.c_str(), AT_REMOVEDIR) != 0) gone = left(path, errno);
    return gone ? Cleared::all : erased_ == before ? Cleared::nothing : Cleared::some;
}

bool Eraser::is_protected(const std::string& name, const std::string& path, bool directory) const {
    // A directory with the name of a temporary file is what an earlier run could not delete of a replaced directory.
    if ((is_transfer_file(name) && !directory) || rules_.excludes(path, directory)) return true;
    // If names may be listed with another spelling, the rules apply to that spelling too.
    return folds_ && small_rules_.excludes(in_lower_case(path), directory);
}

bool Eraser::has_come(int parent, const std::string& name) const {
    if (!folds_) return false;
    EntryFacts facts;
    if (const int error = look_at_entry(parent, name.c_str(), facts); error != 0) return error != ENOENT;
    // A file may have several names, and perhaps only one of them arrived.
    return (facts.is_directory() || facts.links <= 1) && claims_.holds(facts);
}

void Eraser::look_through(Spellings spellings) {
    looking_.reset();
    const std::string& directory = spellings.front();
    auto [fd, error] = root_.open_directory(directory);
    // A dry run makes no directories, so this one may be missing.
    if (!fd && dry_run()) return;
    const std::vector<std::string> names = fd ? names_in(fd.get(), error) : std::vector<std::string>();
    if (error != 0) {
        stays(directory, io_error("cannot list", directory, error));
        return;
    }
    folds_ = claims_.may_fold(directory);
    Looking found{.spellings = std::move(spellings), .fd = std::move(fd), .listed = {}, .otherwise = {}};
    const auto unknown = [&](const std::string& name, int number) {
        left(path_in(found.spellings.front(), name), number);
    };
    found.listed = entries_of(found.fd.get(), names, Look::cached, unknown, report_);
    if (folds_) {
        found.otherwise = folded_.read_otherwise(found.fd.get(), found.spellings, found.listed);
        if (!found.otherwise->all_numbered()) {
            found.listed = entries_of(found.fd.get(), names, Look::fresh, unknown, report_);
            found.otherwise = folded_.read_otherwise(found.fd.get(), found.spellings, found.listed);
        }
        for (const std::string& path : found.otherwise->doubtful()) go_into({path});
    }
    looking_ = std::move(found);
}

void Eraser::look_at_next(Looking& directory) {
    const ListedEntry& entry = directory.listed[directory.next++];
    const bool doubtful = directory.otherwise && !directory.otherwise->doubtful().empty();
    const bool erases = contents_ || !directory.spellings.front().empty();
    Spellings sent = directory.otherwise ? directory.otherwise->names_of(entry) : Spellings();
    for (const std::string& spelling : directory.spellings) {
        std::string path = path_in(spelling, entry.name);
        if (names_.has(path)) sent.push_back(std::move(path));
    }
    const std::string path = path_in(directory.spellings.front(), entry.name);
    if (!sent.empty()) {
        if (entry.facts.is_directory()) go_into(sent);
    } else if (!erases || is_protected(entry.name, path, entry.facts.is_directory())) {
        return;
    } else if (doubtful) {
        stays(path, in_doubt(path, directory.otherwise->doubtful().front()));
    } else {
        static_cast<void>(remove(directory.fd.get(), entry.name, path));
    }
}

void Eraser::go_into(const Spellings& sent) {
    Spellings directories;
    for (const std::string& path : sent) {
        if (directories_.has(path) && !rules_.excludes(path, true)) directories.push_back(path);
    }
    if (!directories.empty()) waiting_.push_back(std::move(directories));
}

bool Eraser::remove(int parent, const std::string& name, const std::string& path) {
    struct stat st = {};
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT || left(path, errno);
    if (has_come(parent, name)) {
        return stays(path, in_doubt(path, path));
    }
    return S_ISDIR(st.st_mode) ? begin_emptying(parent, name, name, path) : take_away(parent, name, path, false);
}

bool Eraser::left(const std::string& path, int error_number) {
    return stays(path, io_error("cannot delete", path, error_number));
}

int Eraser::lacks_rights(int directory, const std::string& path) {
    const int error = bars_changes(directory);
    if (error != EACCES) return error;
    if (dry_run()) return is_own(directory) ? 0 : error;
    return lend(path) ? bars_changes(directory) : error;
}

bool Eraser::take_away(int parent, const std::string& name, const std::string& path, bool directory) {
    const auto attempt = [&] {
        return ::unlinkat(parent, name.c_str(), directory ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
    };
    int error = 0;
    if (dry_run()) {
        error = parent < 0 ? 0 : lacks_rights(parent, split_leaf(path).directory);
        if (error == 0 && parent >= 0) error = bars_removal(parent, name);
    } else {
        error = attempt();
        if (error == EACCES && lend(split_leaf(path).directory)) error = attempt();
    }
    if (error != 0) return left(path, error);
    ++erased_;
    report_.ended(Ended::erased, directory ? EntryType::directory : EntryType::file, directory ? path + '/' : path, 0);
    return true;
}

int Eraser::list(int parent, const std::string& leaf, const std::string& path, UniqueFd& fd,
                 std::vector<std::string>& names) {
    constexpr int kOpen = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    fd.reset(open_entry(parent, leaf.c_str(), kOpen));
    if (!fd && errno == EACCES) {
        struct stat st = {};
        const bool own = ::fstatat(parent, leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == ::geteuid();
        // A dry run cannot open the directory up, so what is in it stays unknown.
        if (dry_run() && own) return 0;
        if (!lend(path)) return EACCES;
        fd.reset(open_entry(parent, leaf.c_str(), kOpen));
    }
    int error = fd ? 0 : errno;
    if (fd) names = names_in(fd.get(), error);
    return error;
}

bool Eraser::begin_emptying(int parent, const std::string& leaf, std::string name, const std::string& path) {
    UniqueFd fd;
    std::vector<std::string> names;
    int error = emptying_.size() < kMaxEraseDepth ? 0 : ELOOP;
    // What is mounted there belongs to someone else, even if an administrator forgot to exclude it.
    if (is_mount_point(parent, leaf)) {
        return stays(path, refusal(path, kIsMountPoint));
    }
    if (error == 0) error = list(parent, leaf, path, fd, names);
    if (error != 0) return left(path, error);
    emptying_.push_back({std::move(name), path, std::move(fd), std::move(names)});
    return true;
}

void Eraser::empty_more() {
    Emptying& top = emptying_.back();
    if (top.next < top.names.size()) {
        const std::size_t place = emptying_.size() - 1;
        const std::string inside = top.names[top.next++];
        const std::string below = path_in(top.path, inside);
        struct stat st = {};
        const int error = ::fstatat(top.fd.get(), inside.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
        if (error == ENOENT) return;
        const bool goes =
            error != 0 ? left(below, error)
                       : !is_protected(inside, below, S_ISDIR(st.st_mode)) && remove(top.fd.get(), inside, below);
        if (!goes) emptying_[place].all_gone = false;
        return;
    }
    const Emptying over = std::move(top);
    emptying_.pop_back();
    const int parent = !emptying_.empty() ? emptying_.back().fd.get() : looking_ ? looking_->fd.get() : -1;
    emptied_ = over.all_gone && (over.name.empty() || take_away(parent, over.name, over.path, true));
    if (!emptied_ && !emptying_.empty()) emptying_.back().all_gone = false;
}

Result<void> check_way(const ConfinedDir& root, const std::string& path, Eraser* eraser) {
    if (occupant_of(root, path) != Occupant::directory) return {};
    const auto stays = [&](const std::string& why) {
        return in_the_way(path, "it stays, because " + why + ": remove it at the receiver");
    };
    const SplitName split = split_leaf(path);
    const UniqueFd parent = root.open_directory(split.directory).fd;
    if (parent && is_mount_point(parent.get(), split.leaf)) return stays("it is a mount point");
    if (eraser != nullptr) {
        const auto goes = eraser->may_clear(path);
        if (goes) return {};
        Error refusal = stays(goes.error().message);
        refusal.system_error = goes.error().system_error;
        return refusal;
    }
    auto [directory, failed] = root.open_directory(path);
    const bool empty = directory && names_in(directory.get(), failed).empty();
    if (failed != 0) return io_error("cannot list", path, failed);
    if (empty) return {};
    return in_the_way(path, "it is not empty: --delete replaces it, or remove it at the receiver");
}

int replace_directory(int parent, const std::string& from, const std::string& to, const DeleteReplaced& remove) {
    std::string aside = from;
    int error = swap_names(parent, from, to);
    const bool exchanged = error == 0;
    if (error == EINVAL || error == ENOSYS) {
        aside = "." + from;
        error = rename_entry(parent, to, aside);
        if (error == 0) error = rename_entry(parent, from, to);
        if (error != 0) {
            static_cast<void>(rename_entry(parent, aside, to));
            return error;
        }
    }
    if (error != 0) return error;
    // After a power cut, the name must not lead to a directory that has lost its entries.
    error = sync_directory(parent);
    if (error == 0 && remove(parent, aside) != Cleared::nothing) return 0;
    if (exchanged) {
        static_cast<void>(swap_names(parent, from, to));
    } else if (rename_entry(parent, to, from) == 0) {
        static_cast<void>(rename_entry(parent, aside, to));
    }
    return error != 0 ? error : ENOTEMPTY;
}

}  // namespace udtx::transfer

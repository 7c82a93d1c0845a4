#include "transfer/landing/eraser.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// A descriptor for each level.
constexpr std::size_t kMaxEraseDepth = kMaxDepth;
constexpr std::size_t kMaxTops = 65536;

std::vector<ListedEntry> entries_of(int directory, const std::vector<std::string>& names, Look look) {
    std::vector<ListedEntry> out;
    for (const std::string& name : names) {
        ListedEntry entry{name, {}};
        if (look_at_entry(directory, name.c_str(), entry.facts, look) == 0) out.push_back(std::move(entry));
    }
    return out;
}

Error in_doubt(const std::string& path, const std::string& other) {
    return {ErrorCode::refused, "--delete: '" + escape_name(path) + "' is left: it may be what '" + escape_name(other) +
                                    "' came as, since names read otherwise on this file system"};
}

}  // namespace

Eraser::Eraser(const ConfinedDir& root, bool dry_run, EraseCallbacks callbacks)
    : root_(root), dry_run_(dry_run), own_claims_(root), claims_(*own_claims_), callbacks_(std::move(callbacks)) {}

Eraser::Eraser(const ConfinedDir& root, bool dry_run, EntryClaims& claims, EraseCallbacks callbacks)
    : root_(root), dry_run_(dry_run), claims_(claims), callbacks_(std::move(callbacks)) {}

void Eraser::note(const std::string& path) {
    names_.add(path);
    const SplitName split = split_leaf(path);
    if (claims_.may_fold(split.directory)) folded_.add(split.directory, split.leaf);
}

void Eraser::keep_unsent(const std::string& path) { note(path); }

void Eraser::keep(const std::string& path, bool directory) {
    note(path);
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

Result<void> Eraser::run() {
    if (nothing_sent_ && (!contents_ || tops_.empty())) {
        return Error{ErrorCode::refused, "--delete: nothing is deleted, since the sources are empty"};
    }
    if (names_.full() || directories_.full() || folded_.full() || tops_.size() == kMaxTops) {
        return Error{ErrorCode::refused, "--delete: nothing is deleted, since there are too many names to compare"};
    }
    if (contents_ || claims_.may_fold("")) {
        waiting_.push_back({""});
    } else {
        for (const std::string& top : tops_) waiting_.push_back({top});
    }
    while (!waiting_.empty() && callbacks_.go_on()) {
        const Spellings next = std::move(waiting_.back());
        waiting_.pop_back();
        look_through(next);
    }
    return {};
}

bool Eraser::clear(const std::string& path) {
    const SplitName split = split_leaf(path);
    int error = 0;
    const UniqueFd parent = root_.open_directory(split.directory, error);
    folds_ = claims_.may_fold(split.directory);
    return parent && remove_content(parent.get(), split.leaf, path, 0);
}

bool Eraser::is_protected(const std::string& name, const std::string& path, bool directory) const {
    if (is_transfer_file(name) || rules_.excludes(path, directory)) return true;
    // A name that reads otherwise is what the rules mean, too.
    return folds_ && small_rules_.excludes(in_lower_case(path), directory);
}

bool Eraser::has_come(int parent, const std::string& name) const {
    EntryFacts facts;
    if (!folds_ || look_at_entry(parent, name.c_str(), facts) != 0) return false;
    // A file may have other names, of which one came.
    return (facts.is_directory() || facts.links <= 1) && claims_.holds(facts);
}

void Eraser::look_through(const Spellings& spellings) {
    const std::string& directory = spellings.front();
    int error = 0;
    const UniqueFd fd = root_.open_directory(directory, error);
    // A dry run makes no directories.
    if (!fd && dry_run_) return;
    const std::vector<std::string> names = fd ? names_in(fd.get(), error) : std::vector<std::string>();
    if (error != 0) return callbacks_.failed(directory, io_error("cannot look into", directory, error));
    folds_ = claims_.may_fold(directory);
    std::vector<ListedEntry> listed = entries_of(fd.get(), names, Look::cached);
    if (!folds_) return look_through(fd.get(), spellings, listed, nullptr);
    OtherwiseRead otherwise = folded_.read_otherwise(fd.get(), spellings, listed);
    if (!otherwise.all_numbered()) {
        listed = entries_of(fd.get(), names, Look::fresh);
        otherwise = folded_.read_otherwise(fd.get(), spellings, listed);
    }
    look_through(fd.get(), spellings, listed, &otherwise);
}

void Eraser::look_through(int fd, const Spellings& spellings, const std::vector<ListedEntry>& listed,
                          const OtherwiseRead* otherwise) {
    const bool doubtful = otherwise != nullptr && !otherwise->doubtful().empty();
    const bool erases = contents_ || !spellings.front().empty();
    for (const ListedEntry& entry : listed) {
        Spellings sent = otherwise != nullptr ? otherwise->names_of(entry) : Spellings();
        for (const std::string& spelling : spellings) {
            std::string path = path_in(spelling, entry.name);
            if (names_.has(path)) sent.push_back(std::move(path));
        }
        const std::string path = path_in(spellings.front(), entry.name);
        if (!sent.empty()) {
            if (entry.facts.is_directory()) go_into(sent);
        } else if (!erases || is_protected(entry.name, path, entry.facts.is_directory())) {
            continue;
        } else if (doubtful) {
            callbacks_.failed(path, in_doubt(path, otherwise->doubtful().front()));
        } else {
            static_cast<void>(remove(fd, entry.name, path, 0));
        }
        if (!callbacks_.go_on()) return;
    }
    if (!doubtful) return;
    for (const std::string& path : otherwise->doubtful()) go_into({path});
}

void Eraser::go_into(const Spellings& sent) {
    Spellings directories;
    for (const std::string& path : sent) {
        if (directories_.has(path) && !rules_.excludes(path, true)) directories.push_back(path);
    }
    if (!directories.empty()) waiting_.push_back(std::move(directories));
}

bool Eraser::remove(int parent, const std::string& name, const std::string& path, std::size_t depth) {
    struct stat st = {};
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return true;
    const bool directory = S_ISDIR(st.st_mode);
    if (has_come(parent, name)) {
        callbacks_.failed(path, in_doubt(path, path));
        return false;
    }
    if (directory && !remove_content(parent, name, path, depth)) return false;
    const auto take_away = [&] {
        return dry_run_ || ::unlinkat(parent, name.c_str(), directory ? AT_REMOVEDIR : 0) == 0 ? 0 : errno;
    };
    int error = take_away();
    if (error == EACCES && callbacks_.lend(split_leaf(path).directory)) error = take_away();
    if (error != 0) {
        callbacks_.failed(path, io_error("cannot delete", path, error));
        return false;
    }
    callbacks_.erased(path);
    return true;
}

bool Eraser::remove_content(int parent, const std::string& name, const std::string& path, std::size_t depth) {
    int error = depth < kMaxEraseDepth ? 0 : ELOOP;
    constexpr int kOpen = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(error == 0 ? ::openat(parent, name.c_str(), kOpen) : -1);
    if (error == 0 && !fd && errno == EACCES && callbacks_.lend(path)) {
        fd.reset(::openat(parent, name.c_str(), kOpen));
    }
    if (error == 0 && !fd) error = errno;
    const std::vector<std::string> names = fd ? names_in(fd.get(), error) : std::vector<std::string>();
    if (error != 0) {
        callbacks_.failed(path, io_error("cannot delete", path, error));
        return false;
    }
    bool empty = true;
    for (const std::string& inside : names) {
        if (!callbacks_.go_on()) return false;
        const std::string below = path_in(path, inside);
        struct stat st = {};
        if (::fstatat(fd.get(), inside.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        const bool gone =
            !is_protected(inside, below, S_ISDIR(st.st_mode)) && remove(fd.get(), inside, below, depth + 1);
        empty = empty && gone;
    }
    return empty;
}

}  // namespace udtx::transfer

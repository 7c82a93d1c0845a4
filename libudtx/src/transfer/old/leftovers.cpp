#include "transfer/old/leftovers.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_format.hpp"

namespace udtx::transfer {

namespace {

constexpr std::int64_t kDay = 86'400;
// For disks without locks: no transfer leaves a file untouched for so long and then continues it.
constexpr std::int64_t kSurelyIdle = kDay;

std::string temporary_of(std::uint64_t transfer, const std::string& path) {
    return path_in(split_leaf(path).directory, temp_name(temp_number(transfer, path)));
}

/// A clock that was set back makes no file younger than new.
std::int64_t age_of(const struct stat& st) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::time(nullptr)) - st.st_ctim.tv_sec, 0);
}

bool is_ours(const struct stat& st) { return S_ISREG(st.st_mode) && st.st_uid == ::geteuid(); }
/// A symbolic link has a temporary name of this form until it gets its final name.
bool is_temporary_link(const std::string& name, const struct stat& st) {
    return S_ISLNK(st.st_mode) && st.st_uid == ::geteuid() && name.size() == temp_name(0).size() &&
           in_lower_case(name).starts_with(".udtx-");
}

std::uint64_t bytes_of(const struct stat& st) { return static_cast<std::uint64_t>(st.st_blocks) * 512; }

enum class Use { none, some, unknown };

/// Locks the file until the descriptor is closed, unless another process has locked it.
Use lock(int fd) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return Use::none;
    return errno == EWOULDBLOCK ? Use::some : Use::unknown;
}

Use use_of(int directory) {
    const Use use = lock(directory);
    if (use == Use::none) ::flock(directory, LOCK_UN);
    return use;
}

/// A journal that was opened and, if nobody has it, locked.
struct OpenJournal {
    enum class State { free, busy, foreign };
    State state = State::foreign;
    bool unlocked = false;  ///< the disk has no locks: age decides whether it is in use
    UniqueFd fd;
    struct stat st = {};
    std::vector<std::string> temporaries;                   ///< paths below its directory
    std::unordered_map<std::string, std::uint32_t> rights;  ///< modes to restore, by directory
};

/// Restores modes that only the journal still knows.
void give_back_rights(const ConfinedDir& root, const OpenJournal& journal) {
    std::vector<std::pair<std::string, std::uint32_t>> owed(journal.rights.begin(), journal.rights.end());
    // Entries come before their directory, which may block access to them afterwards.
    std::sort(owed.begin(), owed.end(), std::greater<>());
    for (const auto& [directory, mode] : owed) {
        const UniqueFd fd = root.open_directory(directory).fd;
        if (fd) static_cast<void>(set_mode(fd.get(), mode));
    }
}

OpenJournal open_journal(int directory, const std::string& name) {
    OpenJournal out;
    out.fd.reset(open_entry(directory, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!out.fd || ::fstat(out.fd.get(), &out.st) != 0 || !is_ours(out.st)) return out;
    const auto size = static_cast<std::uint64_t>(out.st.st_size);
    if (size > kMaxJournalBytes) return out;
    const Use use = lock(out.fd.get());
    const bool busy = use == Use::some;
    out.unlocked = use == Use::unknown;
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    std::size_t count = 0;
    if (read_all_at(out.fd.get(), bytes, 0, count) != 0) return out;
    const JournalImage image = parse_journal(std::span(bytes).first(count));
    // If its process was killed before the first write, a journal is empty.
    const bool whole = count == 0 || (image.has_header && journal_name(image.header.transfer) == name);
    if (!whole && !busy) return out;
    out.state = busy ? OpenJournal::State::busy : OpenJournal::State::free;
    out.rights = image.rights;
    for (const auto& [key, partial] : image.partials) {
        // A file that other shards fill too is removed only when no transfer is under way there.
        if (partial.shared == 0) out.temporaries.push_back(temporary_of(image.header.transfer, partial.path));
    }
    return out;
}

/// Calls visit(parent, leaf, st) for each temporary file that exists.
template <class Visit>
void visit_temporaries(const ConfinedDir& root, const OpenJournal& journal, Visit visit) {
    for (const std::string& temporary : journal.temporaries) {
        const SplitName split = split_leaf(temporary);
        const UniqueFd parent = root.open_directory(split.directory).fd;
        struct stat st = {};
        const bool there = parent && ::fstatat(parent.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (there) visit(parent.get(), split.leaf, st);
    }
}

/// Seconds since the journal or one of its temporary files was last used.
std::int64_t idle_for(const ConfinedDir& root, const OpenJournal& journal) {
    std::int64_t least = age_of(journal.st);
    visit_temporaries(root, journal,
                      [&](int, const std::string&, const struct stat& st) { least = std::min(least, age_of(st)); });
    return least;
}

/// The job file `name`, if the job waits for the rest of its shards.
std::optional<JobImage> waiting_job(int directory, const std::string& name, struct stat& st) {
    const UniqueFd fd(open_entry(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd || ::fstat(fd.get(), &st) != 0 || !is_ours(st)) return std::nullopt;
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(std::min(static_cast<std::uint64_t>(st.st_size), kMaxJobFileBytes)));
    std::size_t count = 0;
    JobImage image;
    if (read_all_at(fd.get(), bytes, 0, count) == 0) image.read(std::span(bytes).first(count), 0);
    return image.waits() && job_file_name(image.head.job) == name ? std::optional(std::move(image)) : std::nullopt;
}

class Cleaner {
  public:
    Cleaner(const ConfinedDir& base, const CleanOptions& options, const CleanCallbacks& callbacks)
        : base_(base), options_(options), callbacks_(callbacks) {}

    CleanCounts run() {
        look_above();
        look_through("", 0);
        return counts_;
    }

  private:
    /// The top of a transfer may be above the directory that is to be cleaned.
    void look_above() {
        struct stat last = {};
        if (::fstat(base_.fd(), &last) != 0) return;
        for (int at = base_.fd();; at = above_.back().get()) {
            UniqueFd next(open_entry(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            struct stat st = {};
            if (!next || ::fstat(next.get(), &st) != 0) {
                above_.emplace_back();  // use of this directory, or of those above it, is unknown
                return;
            }
            if (st.st_ino == last.st_ino && st.st_dev == last.st_dev) return;  // the root
            last = st;
            above_.push_back(std::move(next));
        }
    }

    [[nodiscard]] Use use_here() const {
        Use all = Use::none;
        for (const UniqueFd& fd : above_) {
            const Use use = fd ? use_of(fd.get()) : Use::unknown;
            if (use == Use::some) return use;
            if (use == Use::unknown) all = use;
        }
        return all;
    }

    void look_through(const std::string& directory, std::size_t depth) {
        if (depth > kMaxDepth) return;
        auto [fd, error] = base_.open_directory(directory);
        const std::vector<std::string> names = fd ? names_in(fd.get(), error) : std::vector<std::string>();
        if (error != 0) return fail(directory, io_error("cannot list", directory, error));
        const int here = fd.get();
        above_.push_back(std::move(fd));
        for (const std::string& name : names) {
            if (is_journal(name)) clean_journal(here, directory, name);
            if (is_transfer_file(name) && name.ends_with(".job")) spare_job(here, directory, name);
        }
        for (const std::string& name : names) {
            struct stat st = {};
            if (::fstatat(here, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
            if (S_ISDIR(st.st_mode)) look_through(path_in(directory, name), depth + 1);
            if (is_transfer_file(name) && !is_journal(name)) clean_temporary(here, directory, name, st);
        }
        above_.pop_back();
    }

    /// Without its files, a job that waits would begin again, and the shards that are done would not run again.
    void spare_job(int directory_fd, const std::string& directory, const std::string& name) {
        struct stat st = {};
        const auto job = options_.jobs ? std::nullopt : waiting_job(directory_fd, name, st);
        if (!job || age_of(st) >= kKeepLeftoversDays * kDay) return;
        const std::string why = "a job waits: " + std::to_string(job->done()) + " of " +
                                std::to_string(job->head.count) +
                                " shards are done. Run the others, or remove the job and run all shards again";
        spared_[path_in(directory, name)] = why;
        spared_[path_in(directory, shard_slots_name(job->head.job))] = "its job waits";
        for (const auto& [number, file] : job->files) {
            const std::string temporary = path_in(split_leaf(file.version.path).directory, temp_name(number));
            spared_[path_in(directory, temporary)] = "its job waits";
        }
    }

    static bool is_journal(const std::string& name) { return is_transfer_file(name) && name.ends_with(".journal"); }

    void clean_journal(int parent, const std::string& directory, const std::string& name) {
        const OpenJournal journal = open_journal(parent, name);
        const std::string path = path_in(directory, name);
        std::string why;
        if (journal.state == OpenJournal::State::busy) why = "a transfer is running";
        if (journal.state == OpenJournal::State::foreign) why = "it is not a journal of this user";
        const auto root = base_.subdirectory(directory);
        if (why.empty() && !root) why = root.error().message;
        const bool maybe_used = why.empty() && journal.unlocked && idle_for(*root, journal) < kSurelyIdle;
        if (why.empty() && (maybe_used || is_new(journal.st))) why = "it is too new";
        for (const std::string& temporary : journal.temporaries) {
            if (!why.empty()) {
                spared_[path_in(directory, temporary)] = "its journal stays";
            } else {
                doomed_.insert(path_in(directory, temporary));
            }
        }
        if (!why.empty()) return keep(path, why);
        // Temporary files go first. If that is interrupted, the next run finds the remaining ones in the journal.
        for (const std::string& temporary : journal.temporaries) remove_at(path_in(directory, temporary));
        if (!options_.dry_run) give_back_rights(*root, journal);
        remove(parent, name, path, journal.st);
    }

    void clean_temporary(int parent, const std::string& directory, const std::string& name, const struct stat& st) {
        const std::string path = path_in(directory, name);
        if (doomed_.count(path) > 0) return;
        if (const auto spared = spared_.find(path); spared != spared_.end()) return keep(path, spared->second);
        if (S_ISDIR(st.st_mode))
            return keep(path, "a run that deletes has not deleted all of it: repeat that run, or delete the directory");
        if (!is_ours(st) && !is_temporary_link(name, st))
            return keep(path, "it is not a file of this user's transfers");
        // As late as possible: every transfer locks the directory before it begins a file.
        const Use use = use_here();
        if (use == Use::some) return keep(path, "a transfer is running");
        if (is_new(st) || (use == Use::unknown && age_of(st) < kSurelyIdle)) return keep(path, "it is too new");
        remove(parent, name, path, st);
    }

    void remove_at(const std::string& path) {
        const SplitName split = split_leaf(path);
        const UniqueFd parent = base_.open_directory(split.directory).fd;
        struct stat st = {};
        if (!parent || ::fstatat(parent.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return;
        if (is_ours(st)) remove(parent.get(), split.leaf, path, st);
    }

    [[nodiscard]] bool is_new(const struct stat& st) const { return age_of(st) < options_.older_than_days * kDay; }

    void remove(int parent, const std::string& name, const std::string& path, const struct stat& st) {
        if (!options_.dry_run && ::unlinkat(parent, name.c_str(), 0) != 0) {
            return fail(path, io_error("cannot remove", path, errno));
        }
        ++counts_.removed;
        counts_.bytes += bytes_of(st);
        callbacks_.removed(path, bytes_of(st));
    }
    void keep(const std::string& path, const std::string& why) {
        ++counts_.kept;
        callbacks_.kept(path, why);
    }
    void fail(const std::string& path, const Error& error) {
        ++counts_.failed;
        callbacks_.failed(path, error);
    }

    const ConfinedDir& base_;
    const CleanOptions& options_;
    const CleanCallbacks& callbacks_;
    CleanCounts counts_;
    std::vector<UniqueFd> above_;  // the directories from the root of the file system down to the current one
    std::unordered_map<std::string, std::string> spared_;  // why they stay, by path
    std::unordered_set<std::string> doomed_;               // because of their journal
};

}  // namespace

CleanCounts clean_leftovers(const ConfinedDir& base, const CleanOptions& options, const CleanCallbacks& callbacks) {
    return Cleaner(base, options, callbacks).run();
}

std::size_t remove_old_journals(const ConfinedDir& root, const std::vector<std::string>& names, std::int64_t days) {
    std::size_t removed = 0;
    for (const std::string& name : names) {
        if (!is_transfer_file(name) || !name.ends_with(".journal")) continue;
        struct stat st = {};
        if (::fstatat(root.fd(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || age_of(st) < days * kDay) continue;
        const OpenJournal journal = open_journal(root.fd(), name);
        if (journal.state != OpenJournal::State::free) continue;
        if (journal.unlocked && idle_for(root, journal) < days * kDay) continue;
        visit_temporaries(root, journal, [](int parent, const std::string& leaf, const struct stat& found) {
            if (is_ours(found)) ::unlinkat(parent, leaf.c_str(), 0);
        });
        give_back_rights(root, journal);
        if (::unlinkat(root.fd(), name.c_str(), 0) == 0) ++removed;
    }
    return removed;
}

void mark_in_use(const ConfinedDir& root) {
    // clean_leftovers() holds the lock only for a moment. Without locks it decides by age.
    for (int tries = 0; tries < 100; ++tries) {
        if (::flock(root.fd(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace udtx::transfer

#include "transfer/landing/committer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/folded_names.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

// With more directories than this, one sync of the file system is cheaper than one for each.
constexpr std::size_t kManyDirectories = 16;
constexpr std::size_t kMaxNoted = 1024;

}  // namespace

int sync_file_system(int fd) {
#ifdef __linux__
    if (again([fd] { return ::syncfs(fd); }) == 0) return 0;
    if (!knows_no_sync(errno)) return errno;
#else
    static_cast<void>(fd);
#endif
    ::sync();
    return 0;
}

ChangedDirectories::ChangedDirectories(const ConfinedDir& root)
    : root_(root), mount_(synced_mount_of(root.fd())), one_by_one_(!mount_), max_open_(descriptor_share()) {}

int ChangedDirectories::open(const std::string& path, int& error) {
    UniqueFd& fd = directories_[path];
    error = 0;
    if (fd) return fd.get();
    if (++open_ > max_open_) {
        for (auto& [other, other_fd] : directories_) other_fd.reset();
        open_ = 1;
        all_open_ = false;
    }
    fd = root_.open_directory(path, error);
    if (fd) note_mount(fd.get());
    return fd.get();
}

void ChangedDirectories::note(const std::string& path) {
    if (path == latest_ && !directories_.empty()) return;
    latest_ = path;
    if (directories_.size() >= kMaxNoted) {
        if (one_by_one_ && sync_error_ == 0) sync_error_ = sync_each();
        directories_.clear();
        open_ = 0;
        all_open_ = false;
    }
    int error = 0;
    if (open(path, error) >= 0) return;
    // A directory that cannot be read is synced with its file system.
    directories_.erase(path);
    all_open_ = false;
}

int ChangedDirectories::sync() {
    if (!all_open_ || directories_.size() > kManyDirectories) return sync_all();
    const int error = sync_each();
    return sync_error_ != 0 ? sync_error_ : error;
}

int ChangedDirectories::sync_all() {
    const bool none = all_open_ && directories_.empty();
    if (none) return 0;
    if (sync_error_ == 0) sync_error_ = sync_mounts();
    if (sync_error_ == 0 && one_by_one_) sync_error_ = sync_each();
    return sync_error_;
}

void ChangedDirectories::note_mount(int fd) {
    if (mount_ && mount_of(fd) == mount_) return;
    const auto mount = synced_mount_of(fd);
    if (!mount) {
        one_by_one_ = true;
    } else if (UniqueFd& kept = others_[*mount]; !kept) {
        kept.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
}

int ChangedDirectories::sync_each() {
    int first_error = 0;
    for (const auto& [path, ignored] : directories_) {
        int error = 0;
        const int fd = open(path, error);
        if (fd >= 0) error = sync_directory(fd);
        // A directory that is gone needs no sync.
        if (first_error == 0 && error != ENOENT) first_error = error;
    }
    return first_error;
}

int ChangedDirectories::sync_mounts() {
    int first_error = sync_file_system(root_.fd());
    for (const auto& [mount, fd] : others_) {
        const int error = fd ? sync_file_system(fd.get()) : EMFILE;
        if (first_error == 0) first_error = error;
    }
    return first_error;
}

namespace {

constexpr int kTries = 8;  // so many transfers may open a directory up and restore its mode, one after the other

int rename_replacing(int directory, const char* from, const char* to) {
    return again([&] { return ::renameat(directory, from, directory, to); }) == 0 ? 0 : errno;
}

int rename_without_replacing(int directory, const char* from, const char* to) {
#if defined(__linux__) && defined(RENAME_NOREPLACE)
    if (again([&] { return ::renameat2(directory, from, directory, to, RENAME_NOREPLACE); }) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
    // Without RENAME_NOREPLACE: the file has two names for a moment, and no file is lost.
    if (again([&] { return ::linkat(directory, from, directory, to, 0); }) == 0)
        return ::unlinkat(directory, from, 0) == 0 ? 0 : errno;
    if (errno == EEXIST) return EEXIST;
    // The file system has no hard links either. Only another program can create the name between the check and the
    // rename.
    struct stat st = {};
    if (::fstatat(directory, to, &st, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    if (errno != ENOENT) return errno;
    return rename_replacing(directory, from, to);
}

/// Sets the time again: some disks set it to now when the file is closed.
void keep_time(int directory, const Commit& commit) {
    EntryFacts facts;
    if (!commit.time || !commit.had) return;
    if (look_at_entry(directory, commit.temporary.c_str(), facts) != 0) return;
    if (FileTime{facts.seconds, facts.nanoseconds} == *commit.had) return;
    static_cast<void>(set_link_time(directory, commit.temporary, *commit.time));
}

Error not_kept(const Commit& commit, const std::string& how) {
    return {
        ErrorCode::file_io,
        "'" + escape_name(commit.path()) + "' " + how + ", although the disk accepted all: check the receiver's disk",
        EIO};
}

/// Reads data back that a disk has accepted.
class ReadBack {
  public:
    enum class Amount : std::uint8_t { last, whole };
    ReadBack(const Commit& commit, const CommitCallbacks& callbacks)
        : commit_(commit), callbacks_(callbacks), hasher_(commit.last->hash) {}

    /// Reads the last piece. It reads the `whole` file if that takes less space than its bytes.
    [[nodiscard]] std::optional<Error> run(int directory, Amount amount) {
        const UniqueFd fd(
            open_entry(directory, commit_.temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat st = {};
        if (!fd && errno == EACCES) return std::nullopt;  // its own mode forbids it
        if (!fd || ::fstat(fd.get(), &st) != 0) return io_error("cannot read back", commit_.path(), errno);
        bool same = holds(fd.get(), commit_.last->piece);
        const std::uint64_t held = static_cast<std::uint64_t>(st.st_blocks) * 512;
        const bool known = amount == Amount::whole && (commit_.whole || commit_.pieces || commit_.sequence);
        if (same && known && held > 0 && held < commit_.length) same = is_whole(fd.get());
        if (stopped_) return io_error("cannot read back", commit_.path(), ECANCELED);
        if (hasher_.error() != 0 && hasher_.error() != ENODATA) {
            return io_error("cannot read back", commit_.path(), hasher_.error());
        }
        return same ? std::nullopt : std::optional(not_kept(commit_, "reads back as other bytes"));
    }

  private:
    [[nodiscard]] bool may_go_on() {
        stopped_ = stopped_ || !callbacks_.worked();
        return !stopped_;
    }
    [[nodiscard]] bool holds(int fd, const ProvenPiece& piece) {
        return may_go_on() && hasher_.hash(fd, piece.offset, piece.length) == piece.digest;
    }
    [[nodiscard]] bool is_whole(int fd) {
        if (commit_.pieces) {
            const std::vector<ProvenPiece> pieces = commit_.pieces();
            return !pieces.empty() &&
                   std::ranges::all_of(pieces, [&](const ProvenPiece& piece) { return holds(fd, piece); });
        }
        Hasher sequence(commit_.last->hash);
        FileDigest whole(commit_.last->hash, commit_.length);
        for (std::uint64_t at = 0; at < commit_.length && hasher_.error() == 0 && may_go_on();) {
            const std::uint64_t length = piece_length(at, commit_.length - at);
            if (commit_.sequence) {
                static_cast<void>(hasher_.add_to(sequence, fd, at, length));
            } else if (const auto digest = hasher_.hash(fd, at, length)) {
                whole.add(at, length, *digest);
            }
            at += length;
        }
        return commit_.sequence ? sequence.finish() == *commit_.sequence : whole.finish() == *commit_.whole;
    }

    const Commit& commit_;
    const CommitCallbacks& callbacks_;
    PieceHasher hasher_;
    bool stopped_ = false;
};

std::optional<Error> read_back(int directory, const Commit& commit, const CommitCallbacks& callbacks,
                               ReadBack::Amount amount) {
    return commit.last ? ReadBack(commit, callbacks).run(directory, amount) : std::nullopt;
}

/// Records a part whose data is on disk. Returns 0 or an errno.
int fill_part(const ConfinedDir& root, EntryClaims& claims, const CommitCallbacks& callbacks, Commit& commit) {
    if (claims.may_fold(commit.directory)) {
        int error = 0;
        const UniqueFd directory = root.open_directory(commit.directory, error);
        commit.why = directory ? read_back(directory.get(), commit, callbacks, ReadBack::Amount::last)
                               : io_error("cannot read back", commit.path(), error);
        if (commit.why) return EIO;
    }
    const auto whole = commit.fill(commit.fd.get());
    if (!whole) {
        commit.why = whole.error();
        return EIO;
    }
    commit.part_only = !*whole;
    return 0;
}

/// Syncs the contents of all files. Files that are already closed are on the root's mount. Sets an error for each
/// commit that failed. Returns the errno of a disk that cannot sync, or 0.
int sync_contents(const ConfinedDir& root, EntryClaims& claims, const CommitCallbacks& callbacks,
                  std::vector<Commit>& batch, std::vector<std::optional<int>>& errors) {
    bool any_closed = false;
    int unsynced = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (batch[i].type != EntryType::file) continue;
        int error = batch[i].closing_error;
        if (batch[i].fd) {
            error = sync_data(batch[i].fd.get());
            if (knows_no_sync(error)) unsynced = std::exchange(error, 0);
            if (error == 0 && batch[i].fill) error = fill_part(root, claims, callbacks, batch[i]);
            if (const int closing = batch[i].fd.close(); error == 0) error = closing;
        } else {
            any_closed = true;
        }
        if (error != 0) errors[i] = error;
    }
    const int error = any_closed ? sync_file_system(root.fd()) : 0;
    for (std::size_t i = 0; error != 0 && i < batch.size(); ++i) errors[i] = error;
    return unsynced;
}

/// Looks whether the temporary name leads to the file that was written. Another program may have put a file there: data
/// that was not verified must not get a final name. Or the disk lost data without an error.
int examine(int directory, Commit& commit, EntryClaims& claims, const CommitCallbacks& callbacks) {
    if (commit.type != EntryType::file && !commit.is) return 0;
    // A file system that is not one of the system's own may make up inode numbers, which prove nothing then.
    const bool own = !claims.may_fold(commit.directory);
    EntryFacts fresh;
    if (!own) static_cast<void>(look_at_entry(directory, commit.temporary.c_str(), fresh));  // drops what is cached
    struct stat st = {};
    const auto look = [&] {
        return ::fstatat(directory, commit.temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    };
    int error = look();
    for (int left = kTries; error == EACCES && left > 0; --left) {
        // Another transfer had opened the directory up, and has restored its mode.
        const BriefRights rights(directory);
        error = look();
    }
    if (error != 0) return error;
    commit.replaced = own && commit.is && FileId::of(st) != *commit.is;
    if (commit.replaced) return ESTALE;
    if (commit.type != EntryType::file) return 0;
    if (const auto size = static_cast<std::uint64_t>(st.st_size); size != commit.length) {
        commit.why =
            not_kept(commit, "has " + std::to_string(size) + " of " + std::to_string(commit.length) + " bytes");
    } else if (!own) {
        commit.why = read_back(directory, commit, callbacks, ReadBack::Amount::whole);
    }
    return commit.why ? EIO : 0;
}

int rename_one(Commit& commit, ChangedDirectories& directories, EntryClaims& claims, const CommitCallbacks& callbacks) {
    int error = 0;
    const int fd = directories.open(commit.directory, error);
    if (fd < 0 || commit.temporary.empty()) return error;
    const auto there = claims.take(fd, commit.directory, commit.name);
    commit.taken = !there;
    if (commit.taken) return EEXIST;
    if (claims.may_fold(commit.directory)) keep_time(fd, commit);
    if (error = examine(fd, commit, claims, callbacks); error != 0) return error;
    const char* from = commit.temporary.c_str();
    const char* to = commit.name.c_str();
    const auto rename = [&] {
        if (commit.keep_existing) return rename_without_replacing(fd, from, to);
        const int failed = rename_replacing(fd, from, to);
        return failed == EISDIR && commit.remove_replaced ? replace_directory(fd, from, to, commit.remove_replaced)
                                                          : failed;
    };
    error = rename();
    for (int left = kTries; error == EACCES && left > 0; --left) {
        // Another transfer had opened the directory up, and has restored its mode.
        const BriefRights rights(fd);
        error = rename();
    }
    commit.skipped = commit.keep_existing && error == EEXIST;
    if (error == 0) claims.note_made(fd, commit.directory, commit.name, *there);
    // If both names refer to one file, a rename leaves both.
    if (commit.skipped || commit.type == EntryType::hard_link) ::unlinkat(fd, from, 0);
    return commit.skipped ? 0 : error;
}

void remove_temporary(const Commit& commit, ChangedDirectories& directories) {
    int error = 0;
    const int fd = directories.open(commit.directory, error);
    if (fd >= 0 && !commit.temporary.empty()) remove_from(fd, commit.temporary);
}

Error why_not(const Commit& commit, int error) {
    if (commit.why) return *commit.why;
    if (commit.taken) return falls_together(commit.path());
    return io_error(commit.replaced ? "another file took the place of" : "cannot finish", commit.path(), error);
}

}  // namespace

void commit_batch(const ConfinedDir& root, EntryClaims& claims, std::vector<Commit>& batch,
                  const CommitCallbacks& callbacks) {
    std::vector<std::optional<int>> errors(batch.size());
    if (const int unsynced = sync_contents(root, claims, callbacks, batch, errors); unsynced != 0) {
        callbacks.unsynced("this disk cannot sync (" + std::generic_category().message(unsynced) +
                           "): delivered data may be lost if the machine fails now");
    }

    ChangedDirectories directories(root);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (errors[i] || batch[i].part_only) continue;
        static_cast<void>(callbacks.worked());
        if (const int error = rename_one(batch[i], directories, claims, callbacks); error != 0) errors[i] = error;
    }
    const int sync_error = directories.sync();
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const Commit& commit = batch[i];
        if (!errors[i] && sync_error == 0) {
            callbacks.delivered(commit);
            continue;
        }
        if (errors[i] && !commit.replaced && !commit.fill) remove_temporary(commit, directories);
        callbacks.failed(commit, why_not(commit, errors[i].value_or(sync_error)));
    }
    callbacks.batch_over();
}

namespace {

constexpr std::size_t kBatchFiles = 1024;
constexpr std::uint64_t kBatchBytes = 256U << 20U;
constexpr auto kBatchWait = std::chrono::milliseconds(200);
constexpr std::size_t kMaxPending = 8192;
constexpr std::size_t kFewFiles = 16;
// Together with what the journal's syncer may hold, this is less than 64 MiB.
constexpr std::uint64_t kMaxUnproven = 24U << 20U;
constexpr std::uint64_t kLargeFile = 8U << 20U;

}  // namespace

Committer::Committer(const ConfinedDir& root, EntryClaims& claims, CommitCallbacks callbacks)
    : root_(root),
      claims_(claims),
      callbacks_(std::move(callbacks)),
      mount_(synced_mount_of(root.fd())),
      task_(
          disk_pools().sync, [this] { return step(); }, [this](Error error) { return give_up(std::move(error)); }) {}

Committer::~Committer() {
    try {
        flush();
    } catch (const std::exception&) {
        // submit() has reported the error, or memory ran out. Temporary files stay.
    }
}

void Committer::submit(Commit commit) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        const std::uint64_t unproven = unproven_ + busy_unproven_;
        return broken_ || (pending_.size() < kMaxPending && pending_fds_ < descriptor_share() &&
                           (unproven == 0 || unproven + commit.unproven <= kMaxUnproven));
    });
    check_well();
    const bool few = pending_.size() < kFewFiles && pending_fds_ + 1 < descriptor_share();
    if (commit.size < kLargeFile && !commit.fill && !few && is_synced_with_root(commit)) {
        commit.closing_error = commit.fd.close();
    }
    if (commit.fd) ++pending_fds_;
    add_up(pending_bytes_, commit.size);
    unproven_ += commit.unproven;
    pending_.push_back(std::move(commit));
    if (pending_.size() == 1) first_pending_ = std::chrono::steady_clock::now();
    if (pending_.size() == 1 || batch_is_due()) task_.wake();
}

// syncfs() covers one mount. Before Linux 5.8 it did not report failed writes, and those kernels have no mount numbers
// either.
bool Committer::is_synced_with_root(const Commit& commit) const {
    return commit.fd && mount_ && mount_of(commit.fd.get()) == mount_;
}

void Committer::flush() {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    task_.wake();
    changed_.wait(lock, [&] { return broken_ || (pending_.empty() && !busy_); });
    hurry_ = false;
    check_well();
}

void Committer::check_well() const {
    if (broken_) throw std::runtime_error(broken_->message);
}

bool Committer::batch_is_due() const {
    return hurry_ || pending_.size() >= kBatchFiles || pending_bytes_ >= kBatchBytes || unproven_ >= kMaxUnproven / 2 ||
           pending_fds_ >= descriptor_share();
}

DiskStep Committer::step() {
    std::unique_lock lock(mutex_);
    if (pending_.empty()) return DiskStep::rest();
    const auto waited = std::chrono::steady_clock::now() - first_pending_;
    if (!batch_is_due() && waited < kBatchWait) {
        return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(kBatchWait - waited));
    }
    std::vector<Commit> batch = std::exchange(pending_, {});
    pending_fds_ = 0;
    pending_bytes_ = 0;
    busy_unproven_ = std::exchange(unproven_, 0);
    busy_ = true;
    changed_.notify_all();
    lock.unlock();
    commit_batch(root_, claims_, batch, callbacks_);
    batch.clear();
    lock.lock();
    busy_ = false;
    busy_unproven_ = 0;
    changed_.notify_all();
    return DiskStep::again();
}

DiskStep Committer::give_up(Error error) noexcept {
    const std::lock_guard lock(mutex_);
    broken_ = std::move(error);
    changed_.notify_all();
    return DiskStep::over();
}

}  // namespace udtx::transfer

#include "transfer/landing/committer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "transfer/checksum.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kBatchFiles = 1024;
constexpr std::uint64_t kBatchBytes = 256U << 20U;
constexpr auto kBatchWait = std::chrono::milliseconds(200);
constexpr std::size_t kMaxPending = 8192;
constexpr std::size_t kFewFiles = 16;
// Together with what the journal's syncer may hold, this is less than 64 MiB.
constexpr std::uint64_t kMaxUnproven = 24U << 20U;
constexpr std::uint64_t kLargeFile = 8U << 20U;

// With more directories than this, one sync of the file system is cheaper than one for each.
constexpr std::size_t kManyDirectories = 16;
constexpr std::size_t kMaxNoted = 1024;

constexpr int kTries = 8;  // so many transfers may open a directory up and restore its mode, one after the other

constexpr Step<CommitState> kCommitSteps[] = {
    {CommitState::ordered, CommitState::synced}, {CommitState::ordered, CommitState::part},
    {CommitState::ordered, CommitState::failed}, {CommitState::synced, CommitState::named},
    {CommitState::synced, CommitState::skipped}, {CommitState::synced, CommitState::failed},
    {CommitState::synced, CommitState::part},   // another shard has given the file its name
    {CommitState::named, CommitState::failed},  // by the sync that covers several of them
    {CommitState::skipped, CommitState::failed}, {CommitState::part, CommitState::failed},
};

/// An order that is being carried out.
struct Commit {
    CommitOrder& order;
    Lifecycle<kCommitSteps> state{CommitState::ordered};
    std::optional<Error> error{};
    bool replaced = false;  // the temporary name refers to another file

    void fail(Error why) {
        state.enter(CommitState::failed);
        error = std::move(why);
    }
    void fail(int error_number) { fail(io_error("cannot finish", order.path(), error_number)); }
};

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

/// Calls `op`, which returns 0 or an errno. Another transfer may have opened the directory up, and have restored its
/// mode meanwhile.
template <class Op>
int with_rights(int directory, const Op& op) {
    int error = op();
    for (int left = kTries; error == EACCES && left > 0; --left) {
        const BriefRights rights(directory);
        error = op();
    }
    return error;
}

/// Sets the time again: some disks set it to now when the file is closed.
void keep_time(int directory, const CommitOrder& order) {
    EntryFacts facts;
    if (!order.time || !order.had) return;
    if (look_at_entry(directory, order.temporary.c_str(), facts) != 0) return;
    if (FileTime{facts.seconds, facts.nanoseconds} == *order.had) return;
    static_cast<void>(set_link_time(directory, order.temporary, *order.time));
}

Error not_kept(const CommitOrder& order, const std::string& how) {
    return {
        ErrorCode::file_io,
        "'" + escape_name(order.path()) + "' " + how + ", although the disk accepted all: check the receiver's disk",
        EIO};
}

/// Reads data back that a disk has accepted.
class ReadBack {
  public:
    enum class Amount : std::uint8_t { last, whole };
    ReadBack(const CommitOrder& order, Report& report)
        : order_(order), proof_(*order.proof), report_(report), hasher_(proof_.hash) {}

    /// Reads the last piece. It reads the `whole` file if that takes less space than its bytes.
    [[nodiscard]] std::optional<Error> run(int directory, Amount amount) {
        const UniqueFd fd(
            open_entry(directory, order_.temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat st = {};
        if (!fd && errno == EACCES) return std::nullopt;  // its own mode forbids it
        if (!fd || ::fstat(fd.get(), &st) != 0) return failure(errno);
        bool same = holds(fd.get(), proof_.last);
        const std::uint64_t held = static_cast<std::uint64_t>(st.st_blocks) * 512;
        const bool known = amount == Amount::whole && (proof_.whole || proof_.pieces || proof_.sequence);
        if (same && known && held > 0 && held < order_.length) same = is_whole(fd.get());
        if (stopped_) return failure(ECANCELED);
        if (hasher_.error() != 0 && hasher_.error() != ENODATA) return failure(hasher_.error());
        return same ? std::nullopt : std::optional(not_kept(order_, "reads back as other bytes"));
    }

  private:
    [[nodiscard]] Error failure(int error_number) const {
        return io_error("cannot read back", order_.path(), error_number);
    }
    [[nodiscard]] bool may_go_on() {
        stopped_ = stopped_ || !report_.checked(0);
        return !stopped_;
    }
    [[nodiscard]] bool holds(int fd, const ProvenPiece& piece) {
        return may_go_on() && hasher_.hash(fd, piece.offset, piece.length) == piece.digest;
    }
    [[nodiscard]] bool is_whole(int fd) {
        if (proof_.pieces) {
            const std::vector<ProvenPiece> pieces = proof_.pieces();
            return !pieces.empty() &&
                   std::ranges::all_of(pieces, [&](const ProvenPiece& piece) { return holds(fd, piece); });
        }
        Hasher sequence(proof_.hash);
        FileDigest whole(proof_.hash, order_.length);
        for (std::uint64_t at = 0; at < order_.length && hasher_.error() == 0 && may_go_on();) {
            const std::uint64_t length = piece_length(at, order_.length - at);
            if (proof_.sequence) {
                static_cast<void>(hasher_.add_to(sequence, fd, at, length));
            } else if (const auto digest = hasher_.hash(fd, at, length)) {
                whole.add(at, length, *digest);
            }
            at += length;
        }
        return proof_.sequence ? sequence.finish() == *proof_.sequence : whole.finish() == *proof_.whole;
    }

    const CommitOrder& order_;
    const FileProof& proof_;
    Report& report_;
    PieceHasher hasher_;
    bool stopped_ = false;
};

std::optional<Error> read_back(int directory, const CommitOrder& order, Report& report, ReadBack::Amount amount) {
    return order.proof ? ReadBack(order, report).run(directory, amount) : std::nullopt;
}

/// Records a part whose data is on disk. True: the file is complete.
Result<bool> fill_part(const ConfinedDir& root, EntryClaims& claims, Report& report, const CommitOrder& order) {
    if (claims.may_fold(order.directory)) {
        auto [directory, error] = root.open_directory(order.directory);
        if (!directory) return io_error("cannot read back", order.path(), error);
        if (auto why = read_back(directory.get(), order, report, ReadBack::Amount::last)) return *why;
    }
    return order.fill(order.fd.get());
}

/// Syncs the contents of all files. Files that are already closed are on the root's mount. Returns the errno of a disk
/// that cannot sync, or 0.
int sync_contents(const ConfinedDir& root, EntryClaims& claims, Report& report, std::vector<Commit>& batch) {
    bool any_closed = false;
    int unsynced = 0;
    for (Commit& commit : batch) {
        CommitOrder& order = commit.order;
        if (order.type != EntryType::file) continue;
        int error = order.closing_error;
        Result<bool> whole = true;
        if (order.fd) {
            error = sync_data(order.fd.get());
            if (knows_no_sync(error)) unsynced = std::exchange(error, 0);
            if (error == 0 && order.fill) whole = fill_part(root, claims, report, order);
            if (const int closing = order.fd.close(); error == 0) error = closing;
        } else {
            any_closed = true;
        }
        if (!whole) {
            commit.fail(whole.error());
        } else if (error != 0) {
            commit.fail(error);
        } else if (!*whole) {
            commit.state.enter(CommitState::part);
        }
    }
    const int error = any_closed ? sync_file_system(root.fd()) : 0;
    for (Commit& commit : batch) {
        if (error != 0 && commit.state != CommitState::failed) commit.fail(error);
        if (commit.state == CommitState::ordered) commit.state.enter(CommitState::synced);
    }
    return unsynced;
}

/// Looks whether the temporary name leads to the file that was written. Another program may have put a file there: data
/// that was not verified must not get a final name. Or the disk lost data without an error.
std::optional<Error> examine(int directory, Commit& commit, EntryClaims& claims, Report& report) {
    const CommitOrder& order = commit.order;
    if (order.type != EntryType::file && !order.is) return std::nullopt;
    // A file system that is not one of the system's own may make up inode numbers, which prove nothing then.
    const bool own = !claims.may_fold(order.directory);
    EntryFacts fresh;
    if (!own) static_cast<void>(look_at_entry(directory, order.temporary.c_str(), fresh));  // drops what is cached
    struct stat st = {};
    const int error = with_rights(directory, [&] {
        return ::fstatat(directory, order.temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    });
    if (error != 0) return io_error("cannot finish", order.path(), error);
    commit.replaced = own && order.is && FileId::of(st) != *order.is;
    if (commit.replaced) return io_error("another file took the place of", order.path(), ESTALE);
    if (order.type != EntryType::file) return std::nullopt;
    if (const auto size = static_cast<std::uint64_t>(st.st_size); size != order.length) {
        return not_kept(order, "has " + std::to_string(size) + " of " + std::to_string(order.length) + " bytes");
    }
    return own ? std::nullopt : read_back(directory, order, report, ReadBack::Amount::whole);
}

/// True if another shard has given the file its name. Each that fills its part while all others are filled may do that.
bool has_name(int directory, const CommitOrder& order) {
    struct stat st = {};
    return order.fill && order.is && ::fstatat(directory, order.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           FileId::of(st) == *order.is;
}

void give_name(Commit& commit, ChangedDirectories& directories, EntryClaims& claims, Report& report) {
    const CommitOrder& order = commit.order;
    int error = 0;
    const int fd = directories.open(order.directory, error);
    if (fd < 0) return commit.fail(error);
    if (order.temporary.empty()) return commit.state.enter(CommitState::named);
    const auto there = claims.take(fd, order.directory, order.name);
    if (!there) return commit.fail(falls_together(order.path()));
    if (claims.may_fold(order.directory)) keep_time(fd, order);
    if (auto why = examine(fd, commit, claims, report)) {
        return has_name(fd, order) ? commit.state.enter(CommitState::part) : commit.fail(*std::move(why));
    }
    const char* from = order.temporary.c_str();
    const char* to = order.name.c_str();
    error = with_rights(fd, [&] {
        if (order.keep_existing) return rename_without_replacing(fd, from, to);
        const int failed = rename_replacing(fd, from, to);
        return failed == EISDIR && order.remove_replaced ? replace_directory(fd, from, to, order.remove_replaced)
                                                         : failed;
    });
    if (error == ENOENT && has_name(fd, order)) return commit.state.enter(CommitState::part);
    const bool skipped = order.keep_existing && error == EEXIST;
    if (error == 0) claims.note_made(fd, order.directory, order.name, *there);
    // If both names refer to one file, a rename leaves both.
    if (skipped || order.type == EntryType::hard_link) ::unlinkat(fd, from, 0);
    if (error != 0 && !skipped) return commit.fail(error);
    commit.state.enter(skipped ? CommitState::skipped : CommitState::named);
}

void remove_temporary(const CommitOrder& order, ChangedDirectories& directories) {
    int error = 0;
    const int fd = directories.open(order.directory, error);
    if (fd >= 0 && !order.temporary.empty()) remove_from(fd, order.temporary);
}

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
    OpenedFd opened = root_.open_directory(path);
    fd = std::move(opened.fd);
    error = opened.error;
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

CommittedBatch commit_batch(const ConfinedDir& root, EntryClaims& claims, std::vector<CommitOrder>& orders,
                            Report& report) {
    std::vector<Commit> batch;
    batch.reserve(orders.size());
    for (CommitOrder& order : orders) batch.push_back({order});
    CommittedBatch out;
    if (const int unsynced = sync_contents(root, claims, report, batch); unsynced != 0) {
        out.warning = "this disk cannot sync (" + std::generic_category().message(unsynced) +
                      "): delivered data may be lost if the machine fails now";
    }

    ChangedDirectories directories(root);
    for (Commit& commit : batch) {
        if (commit.state != CommitState::synced) continue;
        static_cast<void>(report.checked(0));
        give_name(commit, directories, claims, report);
    }
    const int sync_error = directories.sync();
    for (Commit& commit : batch) {
        if (commit.state != CommitState::failed) {
            if (sync_error != 0) commit.fail(sync_error);
        } else if (!commit.replaced && !commit.order.fill) {
            remove_temporary(commit.order, directories);
        }
        out.results.push_back({commit.state, std::move(commit.error)});
    }
    return out;
}

Committer::Committer(const ConfinedDir& root, EntryClaims& claims, Report& report, Committed committed)
    : root_(root),
      claims_(claims),
      report_(report),
      committed_(std::move(committed)),
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

bool Committer::is_full(const CommitOrder& order) const {
    const std::uint64_t unproven = unproven_ + busy_unproven_;
    return pending_.size() >= kMaxPending || pending_fds_ >= descriptor_share() ||
           (unproven > 0 && unproven + order.unproven > kMaxUnproven);
}

void Committer::submit(CommitOrder order) {
    const Lock lock(mutex_);
    while (!broken_ && is_full(order)) changed_.wait(mutex_);
    check_well();
    const bool few = pending_.size() < kFewFiles && pending_fds_ + 1 < descriptor_share();
    // syncfs() covers one mount. Before Linux 5.8 it did not report failed writes, and those kernels have no mount
    // numbers either.
    if (order.size < kLargeFile && !order.fill && !few && order.fd && mount_ && mount_of(order.fd.get()) == mount_) {
        order.closing_error = order.fd.close();
    }
    if (order.fd) ++pending_fds_;
    add_up(pending_bytes_, order.size);
    unproven_ += order.unproven;
    pending_.push_back(std::move(order));
    if (pending_.size() == 1) first_pending_ = std::chrono::steady_clock::now();
    if (pending_.size() == 1 || batch_is_due()) task_.wake();
}

void Committer::flush() {
    const Lock lock(mutex_);
    hurry_ = true;
    task_.wake();
    while (!broken_ && (!pending_.empty() || busy_)) changed_.wait(mutex_);
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
    const Lock lock(mutex_);
    if (pending_.empty()) return DiskStep::rest();
    const auto waited = std::chrono::steady_clock::now() - first_pending_;
    if (!batch_is_due() && waited < kBatchWait) {
        return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(kBatchWait - waited));
    }
    std::vector<CommitOrder> batch = std::exchange(pending_, {});
    pending_fds_ = 0;
    pending_bytes_ = 0;
    busy_unproven_ = std::exchange(unproven_, 0);
    busy_ = true;
    changed_.notify_all();
    {
        const Unlock unlocked(mutex_);
        committed_(batch, commit_batch(root_, claims_, batch, report_));
        batch.clear();
    }
    busy_ = false;
    busy_unproven_ = 0;
    changed_.notify_all();
    return DiskStep::again();
}

DiskStep Committer::give_up(Error error) noexcept {
    const Lock lock(mutex_);
    broken_ = std::move(error);
    changed_.notify_all();
    return DiskStep::over();
}

}  // namespace udtx::transfer

#include "transfer/landing/committer.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "transfer/file/file_io.hpp"

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

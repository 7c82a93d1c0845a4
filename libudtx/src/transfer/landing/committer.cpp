#include "transfer/landing/committer.hpp"

#include <chrono>
#include <utility>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kBatchFiles = 1024;
constexpr std::uint64_t kBatchBytes = 256U << 20U;
constexpr auto kBatchWait = std::chrono::milliseconds(200);
constexpr std::size_t kMaxPending = 8192;
constexpr std::size_t kFewFiles = 16;
// With what the journal's syncer may hold, less than 64 MiB.
constexpr std::uint64_t kMaxUnproven = 24U << 20U;
constexpr std::uint64_t kLargeFile = 8U << 20U;

}  // namespace

Committer::Committer(const ConfinedDir& root, CommitCallbacks callbacks)
    : root_(root), callbacks_(std::move(callbacks)), max_pending_fds_(descriptor_share()), thread_([this] { run(); }) {}

Committer::~Committer() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Committer::submit(Commit commit) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        const std::uint64_t unproven = unproven_ + busy_unproven_;
        return pending_.size() < kMaxPending && pending_fds_ < max_pending_fds_ &&
               (unproven == 0 || unproven + commit.unproven <= kMaxUnproven);
    });
    if (commit.size < kLargeFile && pending_.size() >= kFewFiles) commit.fd.reset();
    if (commit.fd) ++pending_fds_;
    pending_bytes_ += commit.size;
    unproven_ += commit.unproven;
    pending_.push_back(std::move(commit));
    if (pending_.size() == 1 || batch_is_due()) changed_.notify_all();
}

void Committer::flush() {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return pending_.empty() && !busy_; });
    hurry_ = false;
}

bool Committer::batch_is_due() const {
    return hurry_ || closing_ || pending_.size() >= kBatchFiles || pending_bytes_ >= kBatchBytes ||
           unproven_ >= kMaxUnproven / 2 || pending_fds_ >= max_pending_fds_;
}

void Committer::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || !pending_.empty(); });
        if (pending_.empty()) return;
        changed_.wait_for(lock, kBatchWait, [&] { return batch_is_due(); });
        std::vector<Commit> batch = std::exchange(pending_, {});
        pending_fds_ = 0;
        pending_bytes_ = 0;
        busy_unproven_ = std::exchange(unproven_, 0);
        busy_ = true;
        changed_.notify_all();
        lock.unlock();
        commit_batch(root_, batch, callbacks_);
        batch.clear();
        lock.lock();
        busy_ = false;
        busy_unproven_ = 0;
        changed_.notify_all();
    }
}

}  // namespace udtx::transfer

#include "transfer/landing/piece_syncer.hpp"

#include <utility>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

constexpr std::uint64_t kMaxPendingBytes = 24U << 20U;

}  // namespace

PieceSyncer::PieceSyncer(ResumeJournal& journal) : journal_(journal), thread_([this] { run(); }) {}

PieceSyncer::~PieceSyncer() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void PieceSyncer::submit(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_bytes_ == 0 || pending_bytes_ + batch.bytes <= kMaxPendingBytes; });
    pending_bytes_ += batch.bytes;
    queue_.push_back(std::move(batch));
    changed_.notify_all();
}

void PieceSyncer::flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

void PieceSyncer::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) return;
        const Batch batch = std::move(queue_.front());
        queue_.pop_front();
        busy_ = true;
        lock.unlock();
        // A sync that failed is final: these pieces are fetched again.
        if (sync_data(batch.fd.get()) == 0) {
            journal_.add_pieces(batch.path, batch.pieces);
            journal_.flush();
        }
        lock.lock();
        busy_ = false;
        pending_bytes_ -= batch.bytes;
        changed_.notify_all();
    }
}

}  // namespace udtx::transfer

#include "transfer/landing/piece_journal.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

// Bytes of one file before a sync. Together with what may be pending, far less than 64 MiB are sent again.
constexpr std::uint64_t kSyncBytes = 8U << 20U;
constexpr std::uint64_t kMaxPendingBytes = 24U << 20U;

}  // namespace

PieceJournal::PieceJournal(const ConfinedDir& root, ResumeJournal& journal)
    : root_(root),
      journal_(journal),
      max_batches_(descriptor_share()),
      task_(
          disk_pools().sync, [this] { return step(); }, [this](Error error) { return give_up(std::move(error)); }) {}

PieceJournal::~PieceJournal() {
    try {
        flush();
    } catch (const std::exception&) {
        // The task has failed, or memory ran out: these pieces are sent again.
    }
}

void PieceJournal::wrote(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced, ProvenPiece piece) {
    unsynced.bytes += piece.length;
    unsynced.pieces.push_back(std::move(piece));
    if (unsynced.bytes >= kSyncBytes) submit(path, file, unsynced);
}

bool PieceJournal::leave(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced) {
    if (!unsynced.pieces.empty()) submit(path, file, unsynced);
    return unsynced.journaled;
}

void PieceJournal::submit(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced) {
    Batch batch{.fd = file.open_again(root_),
                .path = path,
                .pieces = std::exchange(unsynced.pieces, {}),
                .bytes = std::exchange(unsynced.bytes, 0)};
    if (!batch.fd) return;
    unsynced.journaled = true;
    journal_.begin_partial(path, unsynced.shared);
    const Lock lock(mutex_);
    const auto is_full = [&]() REQUIRES(mutex_) {
        return queue_.size() >= max_batches_ || (pending_bytes_ > 0 && pending_bytes_ + batch.bytes > kMaxPendingBytes);
    };
    while (!broken_ && is_full()) changed_.wait(mutex_);
    check_well();
    pending_bytes_ += batch.bytes;
    queue_.push_back(std::move(batch));
    task_.wake();
}

void PieceJournal::flush() {
    const Lock lock(mutex_);
    while (!broken_ && (!queue_.empty() || busy_)) changed_.wait(mutex_);
    check_well();
}

void PieceJournal::check_well() const {
    if (broken_) throw std::runtime_error(broken_->message);
}

DiskStep PieceJournal::step() {
    const Lock lock(mutex_);
    if (queue_.empty()) return DiskStep::rest();
    const Batch batch = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    {
        const Unlock unlocked(mutex_);
        // A failed sync is final: these pieces are sent again. If the disk cannot sync, another run checks the hashes.
        if (const int failed = sync_data(batch.fd.get()); failed == 0 || knows_no_sync(failed)) {
            journal_.add_pieces(batch.path, batch.pieces);
            journal_.flush();
        }
    }
    busy_ = false;
    pending_bytes_ -= batch.bytes;
    changed_.notify_all();
    return DiskStep::again();
}

DiskStep PieceJournal::give_up(Error error) noexcept {
    const Lock lock(mutex_);
    broken_ = std::move(error);
    changed_.notify_all();
    return DiskStep::over();
}

void PieceJournal::close(bool all_done) {
    flush();
    journal_.flush();
    if (all_done || !journal_.worth_keeping()) journal_.remove();
}

}  // namespace udtx::transfer

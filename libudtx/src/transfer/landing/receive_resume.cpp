#include "transfer/landing/receive_resume.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "transfer/checksum.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr std::uint64_t kMaxPendingBytes = 24U << 20U;

}  // namespace

PieceSyncer::PieceSyncer(ResumeJournal& journal)
    : journal_(journal),
      max_batches_(descriptor_share()),
      task_(
          disk_pools().sync, [this] { return step(); }, [this](Error error) { return give_up(std::move(error)); }) {}

PieceSyncer::~PieceSyncer() {
    try {
        flush();
    } catch (const std::exception&) {
        // The task has failed, or memory ran out: these pieces are sent again.
    }
}

void PieceSyncer::submit(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
        const bool room = pending_bytes_ == 0 || pending_bytes_ + batch.bytes <= kMaxPendingBytes;
        return broken_ || (room && queue_.size() < max_batches_);
    });
    check_well();
    pending_bytes_ += batch.bytes;
    queue_.push_back(std::move(batch));
    task_.wake();
}

void PieceSyncer::flush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || (queue_.empty() && !busy_); });
    check_well();
}

void PieceSyncer::check_well() const {
    if (broken_) throw std::runtime_error(broken_->message);
}

DiskStep PieceSyncer::step() {
    std::unique_lock lock(mutex_);
    if (queue_.empty()) return DiskStep::rest();
    const Batch batch = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    // A failed sync is final: these pieces are sent again. If the disk cannot sync, another run checks the hashes.
    if (const int failed = sync_data(batch.fd.get()); failed == 0 || knows_no_sync(failed)) {
        journal_.add_pieces(batch.path, batch.pieces);
        journal_.flush();
    }
    lock.lock();
    busy_ = false;
    pending_bytes_ -= batch.bytes;
    changed_.notify_all();
    return DiskStep::again();
}

DiskStep PieceSyncer::give_up(Error error) noexcept {
    const std::lock_guard lock(mutex_);
    broken_ = std::move(error);
    changed_.notify_all();
    return DiskStep::over();
}

namespace {

// Bytes of one file before a sync. Together with what the syncer may have pending, far less than 64 MiB are sent again.
constexpr std::uint64_t kSyncBytes = 8U << 20U;
constexpr int kReadOnly = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

bool is_file_of(const UniqueFd& fd, std::uint64_t size, struct stat& st) {
    return fd && ::fstat(fd.get(), &st) == 0 && S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == size;
}

}  // namespace

ReceiveResume::ReceiveResume(const ConfinedDir& root, HashAlgorithm hash, ResumeJournal& journal, JobFile* job,
                             Report& report)
    : root_(root), hash_(hash), journal_(journal), job_(job), report_(report), hasher_(hash), syncer_(journal) {
    for (const auto& [key, partial] : journal.earlier().partials) {
        partials_[key] = {partial.path, partial.pieces, partial.shared};
    }
}

bool ReceiveResume::knows(const std::string& path, const message::Query& query) {
    if (query.part && job_ != nullptr) learn_claims(query, path);
    return has_partial(path) || knows_whole(path, query);
}

void ReceiveResume::learn_claims(const message::Query& query, const std::string& path) {
    const std::uint64_t shared = job_->temporary_for(path);
    const auto at = partials_.find(path_key(path));
    if (at != partials_.end() && at->second.shared != shared) partials_.erase(at);
    const auto claimed = job_->claimed({path, query.size, query.mtime}, *query.part);
    if (claimed.empty()) return;
    Partial& partial = partials_.try_emplace(path_key(path), Partial{path, {}, shared}).first->second;
    for (const ProvenPiece& piece : claimed) partial.pieces[piece.offset] = piece;
}

bool ReceiveResume::knows_whole(const std::string& path, const message::Query& query) const {
    if (has_partial(path)) return false;
    const auto& done = journal_.earlier().done;
    const auto at = done.empty() ? done.end() : done.find(path_key(path));
    return at != done.end() && at->second.size == query.size && at->second.mtime == query.mtime;
}

void ReceiveResume::answer(const message::Query& query, const Reply& reply) {
    const std::string path = join_path(query.path);
    const std::uint64_t key = path_key(path);
    if (const auto partial = partials_.find(key); partial != partials_.end()) {
        return begin(partial->second, query.number);
    }
    const auto& done = journal_.earlier().done;
    const auto at = done.find(key);
    const bool same = at != done.end() && at->second.size == query.size && at->second.mtime == query.mtime;
    if (!same) return reply({query.number, Holding::nothing, 0, {}});
    int error = 0;
    UniqueFd fd = root_.open_at(path, kReadOnly, 0, error);
    struct stat st = {};
    const bool whole = is_file_of(fd, at->second.size, st);
    proving_file_.emplace(
        ProvingFile{key, query.number, at->second, std::move(fd), FileDigest(hash_, at->second.size), 0, st, whole});
}

bool ReceiveResume::go_on(const Reply& reply) {
    if (proving_pieces_) {
        prove_piece(reply);
    } else if (proving_file_) {
        prove_block(reply);
    } else {
        return false;
    }
    return true;
}

void ReceiveResume::begin(Partial& partial, std::uint64_t number) {
    int error = 0;
    const SplitName split = split_leaf(partial.path);
    const std::string name = temp_name(partial.shared != 0 ? partial.shared : unique_for(partial.path));
    proving_pieces_ = ProvingPieces{};
    ProvingPieces& proving = *proving_pieces_;
    proving.partial = &partial;
    proving.fd = root_.open_at(split.directory.empty() ? name : split.directory + '/' + name, kReadOnly, 0, error);
    if (proving.fd && !TempFile::is_adoptable(proving.fd.get())) proving.fd.reset();
    for (const auto& [offset, piece] : partial.pieces) proving.claimed.push_back(piece);
    std::sort(proving.claimed.begin(), proving.claimed.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    partial.pieces.clear();
    partial.proven = true;
    proving.out = {number, Holding::pieces, 0, {}};
}

void ReceiveResume::prove_piece(const Reply& reply) {
    ProvingPieces& proving = *proving_pieces_;
    message::Answer& out = proving.out;
    if (proving.next == proving.claimed.size()) {
        out.has = Holding::last_pieces;
        reply(std::move(out));
        return proving_pieces_.reset();
    }
    const ProvenPiece& piece = proving.claimed[proving.next++];
    const auto there = proving.fd ? hasher_.hash(proving.fd.get(), piece.offset, piece.length) : std::nullopt;
    if (!report_.checked(there ? piece.length : 0)) return proving_pieces_.reset();
    if (there != piece.digest) {
        ++out.damaged;
        return;
    }
    proving.partial->pieces[piece.offset] = piece;
    out.pieces.push_back(piece);
    if (out.pieces.size() == kMaxListItems) reply(std::exchange(out, {out.number, Holding::pieces, 0, {}}));
}

void ReceiveResume::prove_block(const Reply& reply) {
    ProvingFile& file = *proving_file_;
    if (file.whole && file.offset < file.done.size) {
        const std::uint64_t length = piece_length(file.offset, file.done.size - file.offset);
        const auto block = hasher_.hash(file.fd.get(), file.offset, length);
        file.whole = block && report_.checked(length);
        if (block) file.digest.add(file.offset, length, *block);
        file.offset += length;
        if (file.whole && file.offset < file.done.size) return;
    }
    const bool there = file.whole && file.digest.finish() == file.done.digest;
    if (there) proven_files_[file.key] = file.st;
    reply({file.number, there ? Holding::file : Holding::nothing, there ? 0U : 1U, {}});
    proving_file_.reset();
}

std::optional<Digest> ReceiveResume::proven(const std::string& path, const Extent& piece) const {
    const auto partial = partials_.find(path_key(path));
    if (partial == partials_.end() || !partial->second.proven) return std::nullopt;
    const auto at = partial->second.pieces.find(piece.offset);
    if (at == partial->second.pieces.end() || at->second.length != piece.length) return std::nullopt;
    return at->second.digest;
}

const struct stat* ReceiveResume::proven_file(const std::string& path, std::uint64_t size) const {
    const auto at = proven_files_.find(path_key(path));
    const bool proven = at != proven_files_.end() && static_cast<std::uint64_t>(at->second.st_size) == size;
    return proven ? &at->second : nullptr;
}

void ReceiveResume::wrote(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced, ProvenPiece piece) {
    // This piece overwrites what an earlier run had here.
    if (const auto partial = partials_.find(path_key(path)); partial != partials_.end()) {
        partial->second.pieces.erase(piece.offset);
    }
    unsynced.bytes += piece.length;
    unsynced.pieces.push_back(std::move(piece));
    if (unsynced.bytes >= kSyncBytes) submit(path, file, unsynced);
}

bool ReceiveResume::leave(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced) {
    if (!unsynced.pieces.empty()) submit(path, file, unsynced);
    return unsynced.journaled || has_partial(path);
}

void ReceiveResume::submit(const std::string& path, const TempFile& file, UnsyncedPieces& unsynced) {
    UniqueFd fd = file.open_again(root_);
    const std::uint64_t bytes = std::exchange(unsynced.bytes, 0);
    std::vector<ProvenPiece> pieces = std::exchange(unsynced.pieces, {});
    if (!fd) return;
    unsynced.journaled = true;
    journal_.begin_partial(path, unsynced.shared);
    syncer_.submit({std::move(fd), path, std::move(pieces), bytes});
}

void ReceiveResume::close(bool all_done) {
    syncer_.flush();
    journal_.flush();
    if (all_done || !journal_.worth_keeping()) journal_.remove();
}

}  // namespace udtx::transfer

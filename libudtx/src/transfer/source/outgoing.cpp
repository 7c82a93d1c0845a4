#include "transfer/source/outgoing.hpp"

#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kChunkBytes = 1U << 20U;
constexpr std::size_t kIdleChunks = 16;
constexpr std::size_t kMaxControlBytes = 32U << 10U;

}  // namespace

OutgoingQueue::OutgoingQueue(std::size_t max_cost)
    : BoundedQueue<Outgoing>(max_cost), blocks_(kChunkBytes, kIdleChunks) {}

OutgoingPacker::OutgoingPacker(OutgoingQueue& queue, LateWaker& waker) : queue_(queue), waker_(waker) {}

void OutgoingPacker::message(const Message& message) {
    if (control_.bytes().size() >= kMaxControlBytes) flush();
    if (receipt_ != nullptr) receipt_->note(message);
    control_.put(message);
}

std::span<std::byte> OutgoingPacker::space() {
    if (used_ == kChunkBytes) flush();
    if (used_ == chunk_.size()) {
        chunk_ = queue_.block();
        begin_ = used_ = 0;
    }
    return chunk_.writable().subspan(used_);
}

void OutgoingPacker::advance(std::size_t bytes) { used_ += bytes; }

bool OutgoingPacker::flush() {
    if (pending() == 0 || stopped_) return !stopped_;
    Outgoing item;
    item.control.assign(control_.bytes().begin(), control_.bytes().end());
    control_.clear();
    // The next data follows in the same block, so that a few bytes do not occupy a block of their own.
    if (used_ > begin_) item.data = chunk_.part(begin_, used_ - begin_);
    begin_ = used_;
    const std::size_t cost = item.control.size() + item.data.size() + sizeof(Outgoing);
    stopped_ = !queue_.push(std::move(item), cost);
    waker_.wake();
    return !stopped_;
}

void OutgoingPacker::finish(const message::Finish& finish) {
    flush();
    MessageWriter last;
    last.put(finish);
    Outgoing item;
    item.control.assign(last.bytes().begin(), last.bytes().end());
    item.finish = finish;
    stopped_ = !queue_.push(std::move(item), 0);
    waker_.wake();
}

void SourceCounts::meet(const ScannedEntry& entry) {
    if (entry.type != EntryType::file || sent_ == nullptr || !sent_->earlier(entry.path)) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.files;
        add_up(outcome.sent_earlier.bytes, entry.bytes());
    });
}

void SourceCounts::begin(const ScannedEntry& entry) {
    report_.edit([&](Progress& progress, Outcome&) { progress.current_name = entry.path; });
}

void SourceCounts::end(const ScannedEntry& entry, std::uint64_t sent) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total += sent - entry.data_bytes; });
}

void SourceCounts::sent_whole(const ScannedEntry& entry, std::uint64_t sent) {
    report_.sent(entry.path, entry.bytes(), entry.root);
    if (sent_ != nullptr) sent_->add(entry.path, sent);
}

void SourceCounts::stands(const ScannedEntry& entry) {
    const auto sent = sent_ != nullptr ? sent_->earlier(entry.path) : std::nullopt;
    if (!sent) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.stood_files;
        add_up(outcome.sent_earlier.stood_bytes, entry.bytes());
        outcome.sent_earlier.stood_data += *sent;
    });
}

void SourceCounts::kept_file(const ScannedEntry& entry) {
    kept(entry.bytes(), 0);
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.kept_files;
        add_up(outcome.kept_file_bytes, entry.bytes());
    });
}

void SourceCounts::kept(std::uint64_t bytes, std::uint64_t compared) {
    report_.edit([&](Progress& progress, Outcome& outcome) {
        progress.bytes_kept += bytes - compared;
        add_up(outcome.kept_bytes, bytes);
    });
}

void SourceCounts::compared(std::uint64_t same) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += same; });
}

void SourceCounts::sent_anyway(std::uint64_t same) {
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_kept -= same; });
}

void SourceCounts::fail(const ScannedEntry& entry, FileStatus status, int error_number) {
    fail(entry, status == FileStatus::changed ? changed(entry) : io_error("cannot read", entry.path, error_number));
}

Error SourceCounts::changed(const ScannedEntry& entry) {
    return {ErrorCode::partial, "'" + escape_name(entry.path) +
                                    "' changed while it was read, or does not report its true size (procfs): send it "
                                    "again or copy it first"};
}

void SourceCounts::fail(const ScannedEntry& entry, Error error) {
    report_.fail({entry.path, error.code, std::move(error.message)});
}

}  // namespace udtx::transfer

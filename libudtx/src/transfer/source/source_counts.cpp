#include "transfer/source/source_counts.hpp"

#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

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

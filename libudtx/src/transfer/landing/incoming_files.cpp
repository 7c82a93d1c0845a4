#include <system_error>

#include "transfer/landing/file_builder.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// The memory that a sender may use for files that it does not finish.
constexpr std::uint64_t kMaxUnfinishedBytes = 64U << 20U;

}  // namespace

IncomingFiles::IncomingFiles(TargetTree& tree, const Holdings& holdings)
    : tree_(tree), holdings_(holdings), under_way_{tree, Hasher(tree.offer.hash)} {}

FileBuilder* IncomingFiles::find(std::uint64_t index) {
    const auto at = files_.find(index);
    return at == files_.end() ? nullptr : &at->second.file;
}

std::string IncomingFiles::path_of(std::uint64_t index) const {
    const auto at = files_.find(index);
    return at == files_.end() ? std::string() : at->second.file.path();
}

IncomingFiles::Slots::node_type IncomingFiles::take_out(std::uint64_t index) {
    auto node = files_.extract(index);
    held_ -= node.mapped().held;
    return node;
}

void IncomingFiles::forget(std::uint64_t index) { take_out(index).mapped().file.forget(); }

void IncomingFiles::drop(std::uint64_t index, const Error& error) { take_out(index).mapped().file.fail(error); }

Result<void> IncomingFiles::weigh(Slot& slot) {
    held_ += slot.file.held() - slot.held;
    slot.held = slot.file.held();
    if (held_ <= kMaxUnfinishedBytes) return {};
    return Error{ErrorCode::refused,
                 "'" + escape_name(slot.file.path()) + "': the sender has too many unfinished files"};
}

template <class Step>
bool IncomingFiles::with(std::uint64_t index, const Step& step) {
    const auto at = files_.find(index);
    if (at == files_.end()) return false;
    FileBuilder& file = at->second.file;
    Result<void> done = step(file);
    if (done) done = weigh(at->second);
    if (done) done = file.settle();
    if (!done) {
        drop(index, done.error());
    } else if (file.state() == FileState::committing) {
        take_out(index).mapped().file.submit();
    }
    return true;
}

void IncomingFiles::begin(const message::Entry& entry, const std::string& path) {
    if (entry.whole && holdings_.stays(entry, path)) return;
    if (!tree_.under_way.begin(path)) {
        return tree_.fail(entry.index, path, {ErrorCode::refused, "'" + escape_name(path) + "' is listed twice"});
    }
    files_.try_emplace(entry.index, under_way_, entry, path);
    with(entry.index, [&](FileBuilder&) -> Result<void> {
        if (!entry.part || tree_.run.job != nullptr) return {};
        return Error{ErrorCode::refused,
                     "'" + escape_name(path) + "' is divided between shards: run the receiver without --no-resume"};
    });
}

bool IncomingFiles::set_meta(const message::Meta& meta) {
    return with(meta.index, [&](FileBuilder& file) { return file.set_meta(meta); });
}

void IncomingFiles::write_piece(const WholePiece& piece) {
    with(piece.piece.file, [&](FileBuilder& file) { return file.write(piece); });
}

void IncomingFiles::check_digests(const message::Digests& digests) {
    with(digests.index, [&](FileBuilder& file) -> Result<void> {
        file.expect(digests);
        return {};
    });
}

void IncomingFiles::keep_pieces(std::uint64_t index, const Extent& extent, std::uint64_t first_ordinal) {
    with(index, [&](FileBuilder& file) { return file.keep(extent, first_ordinal); });
}

void IncomingFiles::make_hole(std::uint64_t index, const Extent& extent) {
    with(index, [&](FileBuilder& file) { return file.make_hole(extent); });
}

std::optional<std::string> IncomingFiles::end(const message::FileEnd& end, std::uint64_t pieces) {
    FileBuilder* const file = find(end.index);
    if (file == nullptr) return std::nullopt;
    const std::string path = file->path();
    // It was counted when it was answered for.
    const bool skipped = end.status == FileStatus::skipped;
    if (end.status == FileStatus::kept) {
        const auto stands = file->end_kept();
        if (!stands) {
            drop(end.index, stands.error());
        } else {
            forget(end.index);
            if (*stands) return path;
        }
    } else if (skipped &&
               (holdings_.fell_together(path) || tree_.old.must_stay(path) || tree_.old.is_directory(path))) {
        forget(end.index);
    } else if (end.status != FileStatus::ok) {
        const char* what = end.status == FileStatus::changed ? "changed while it was read" : "could not be read";
        const std::string why =
            end.error == 0 ? "" : ": " + std::generic_category().message(static_cast<int>(end.error));
        drop(end.index, {ErrorCode::not_sent, "'" + escape_name(path) + "' " + what + " at the sender" + why});
    } else {
        with(end.index, [&](FileBuilder& open) -> Result<void> {
            open.finish(end, pieces);
            return {};
        });
    }
    return std::nullopt;
}

bool IncomingFiles::fail_next() {
    if (files_.empty()) return false;
    const auto& [index, slot] = *files_.begin();
    drop(index, {ErrorCode::protocol, "'" + escape_name(slot.file.path()) + "' is incomplete"});
    return true;
}

void IncomingFiles::abandon() {
    for (auto& [index, slot] : files_) slot.file.abandon();
}

void IncomingFiles::clear() noexcept {
    files_.clear();
    held_ = 0;
}

std::uint64_t IncomingFiles::missing_in_quota(std::uint64_t index, std::uint64_t piece) {
    const FileBuilder* const file = tree_.options.quota ? find(index) : nullptr;
    const std::uint64_t bytes = file == nullptr ? 0 : file->missing_in_quota(piece);
    if (bytes > 0 && tree_.run.occupied) tree_.flush();
    return bytes;
}

}  // namespace udtx::transfer

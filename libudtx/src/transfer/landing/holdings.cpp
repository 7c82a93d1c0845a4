#include "transfer/landing/holdings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

class PartCheck {
  public:
    PartCheck(int fd, HashAlgorithm hash, const std::function<bool()>& go_on) : fd_(fd), hasher_(hash), go_on_(go_on) {}

    /// 0, or why it cannot be said: an errno.
    [[nodiscard]] int error() const noexcept { return error_; }
    [[nodiscard]] bool holds(const JobFile::FilledPart& filled) {
        std::uint64_t at = filled.part.offset;
        for (const ProvenPiece& piece : filled.pieces) {
            if (!is_hole(at, piece.offset) || !may_go_on()) return false;
            const auto digest = hasher_.hash(fd_, piece.offset, piece.length);
            if (!was_read() || digest != piece.digest) return false;
            at = piece.offset + piece.length;
        }
        return is_hole(at, filled.part.offset + filled.part.length);
    }

  private:
    [[nodiscard]] bool may_go_on() {
        if (error_ == 0 && !go_on_()) error_ = ECANCELED;
        return error_ == 0;
    }
    /// A file that ends too early was changed, too.
    [[nodiscard]] bool was_read() {
        if (hasher_.error() != 0 && hasher_.error() != ENODATA) error_ = hasher_.error();
        return hasher_.error() == 0;
    }
    /// True if the bytes from `at` to `end` are zero, or beyond the end of the file: its size is set last.
    [[nodiscard]] bool is_hole(std::uint64_t at, std::uint64_t end) {
        struct stat st = {};
        if (::fstat(fd_, &st) != 0) error_ = errno;
        end = std::min(end, static_cast<std::uint64_t>(st.st_size));
        while (error_ == 0 && at < end) {
#ifdef SEEK_DATA
            const off_t data = ::lseek(fd_, static_cast<off_t>(at), SEEK_DATA);
            if (data < 0 && errno == ENXIO) return true;
            if (data >= 0) at = std::max(at, static_cast<std::uint64_t>(data));
            if (at >= end) break;
#endif
            const std::uint64_t length = piece_length(at, end - at);
            if (!may_go_on()) return false;
            const auto zero = hasher_.is_zero(fd_, at, length);
            if (!was_read() || zero != true) return false;
            at += length;
        }
        return error_ == 0;
    }

    int fd_;
    PieceHasher hasher_;
    const std::function<bool()>& go_on_;
    int error_ = 0;
};

}  // namespace

Result<std::vector<std::uint64_t>> changed_parts(const ConfinedDir& root, const std::string& temporary,
                                                 HashAlgorithm hash, const std::vector<JobFile::FilledPart>& parts,
                                                 const std::function<bool()>& go_on) {
    std::vector<std::uint64_t> out;
    int error = 0;
    const UniqueFd fd = root.open_at(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0, error);
    if (!fd && error != ENOENT) return io_error("cannot read back", temporary, error);
    PartCheck check(fd.get(), hash, go_on);
    for (const JobFile::FilledPart& filled : parts) {
        if (!fd || !check.holds(filled)) out.push_back(filled.part.offset);
        if (check.error() != 0) return io_error("cannot read back", temporary, check.error());
    }
    return out;
}

bool Holdings::may_come(const message::Query& query, const std::string& path) {
    auto free = tree_.claims.take(path);
    if (!free && tree_.old.is_same(path, query.size, query.mtime)) {
        free = tree_.claims.take(path, EntryClaims::For::keeping);
    }
    if (!free) {
        together_.insert(path_key(path));
        tree_.fail(kNoEntry, path, free.error());
        return false;
    }
    // If --delete must empty a directory first, that happens when the file has arrived.
    if (tree_.eraser || tree_.old.must_stay(path) || !tree_.old.is_directory(path)) return true;
    const auto way = check_way(tree_.root, path, nullptr);
    if (!way) tree_.fail(kNoEntry, path, way.error());
    return way.ok();
}

bool Holdings::is_journaled(const message::Query& query, const std::string& path) {
    if (tree_.run.journal == nullptr || tree_.old.must_stay(path)) return false;
    // If the right file was put there meanwhile, it is not sent again to complete what an earlier run left.
    const bool stands = tree_.old.has_partial(path) && tree_.offer.overwrite != Overwrite::always &&
                        tree_.old.is_same(path, query.size, query.mtime);
    if (stands || !tree_.old.is_journaled(path, query)) return false;
    // What was delivered before has the size and time of the source, and may differ from it all the same.
    return !tree_.offer.by_digest || !tree_.old.was_delivered(path, query);
}

void Holdings::answer(const message::Query& query, const Reply& reply) {
    if (!check_path(query.path)) return reply({query.number, Holding::nothing, 0, {}});
    const std::string path = join_path(query.path);
    if (tree_.eraser) tree_.eraser->keep(path, false);
    if (!may_come(query, path)) {
        note_stays(query, path, Holding::blocked);
        return reply({query.number, Holding::blocked, 0, {}});
    }
    if (is_journaled(query, path)) {
        // The file of the earlier run stays: a name with another spelling must not claim it because it looks the same.
        if (tree_.old.was_delivered(path, query)) tree_.claims.note_kept(path);
        return tree_.old.answer_from_journal(query, reply);
    }
    const auto has = tree_.old.answer(query, reply);
    if (has == Holding::same || has == Holding::exists) tree_.claims.note_kept(path);
    // With a receipt each file is announced, if only as kept, and is counted then.
    if (has == Holding::same && !tree_.options.receipt) {
        note_stays(query, path, *has);
        tree_.note_unchanged(EntryType::file, path);
    }
    if (has == Holding::exists) {
        note_stays(query, path, *has);
        tree_.report.ended(Ended::skipped, EntryType::file, path, 0);
    }
}

void Holdings::note_stays(const message::Query& query, const std::string& path, Holding has) {
    // Only files of the first queries are sent ahead of the answers.
    if (query.number < kAskedEarly && stays_.size() < kAskedEarly)
        stays_[path_key(path)] = {has, query.size, query.mtime};
}

bool Holdings::stays(const message::Entry& entry, const std::string& path) const {
    const auto at = stays_.find(path_key(path));
    if (at == stays_.end()) return false;
    // If the file changed after the query, the answer was not about this version.
    return at->second.has != Holding::same || (at->second.size == entry.size && at->second.mtime == entry.mtime);
}

bool Holdings::fell_together(const std::string& path) const {
    return !together_.empty() && together_.count(path_key(path)) > 0;
}

}  // namespace udtx::transfer

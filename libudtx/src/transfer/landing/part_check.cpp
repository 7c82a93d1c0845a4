#include "transfer/landing/part_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "transfer/file/file_io.hpp"
#include "transfer/pieces/piece_hasher.hpp"
#include "transfer/pieces/piece_map.hpp"
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

}  // namespace udtx::transfer

#include "transfer/receipt/receipt_check.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {
namespace {

class Checker {
  public:
    Checker(const Receipt& receipt, const ConfinedDir& base, const CheckCallbacks& callbacks)
        : receipt_(receipt), base_(base), callbacks_(callbacks), hasher_(receipt.hash) {}

    void check(const ReceiptEntry& entry) {
        ++counts_.entries;
        if (is_right(entry)) return;
        ++counts_.different;
        callbacks_.differs(entry.path);
    }
    [[nodiscard]] const CheckCounts& counts() const noexcept { return counts_; }

  private:
    bool is_right(const ReceiptEntry& entry) {
        switch (entry.type) {
            case EntryType::file:
                return check_file(entry);
            case EntryType::directory:
                return check_directory(entry);
            case EntryType::hard_link:
                return check_other_name(entry);
            case EntryType::symlink:
                break;
        }
        return check_link(entry);
    }

    bool differs(const ReceiptEntry& entry, const std::string& how) {
        callbacks_.tell(escape_name(entry.path) + ": " + how);
        return false;
    }
    bool cannot(const ReceiptEntry& entry, int error) {
        if (error == ENOENT || error == ENOTDIR) return differs(entry, "missing");
        ++counts_.unreadable;
        return differs(entry, std::string("cannot be read: ") + std::strerror(error));
    }

    bool check_directory(const ReceiptEntry& entry) {
        int error = 0;
        if (base_.open_directory(entry.path, error)) return true;
        if (error == ENOTDIR || error == ELOOP) return differs(entry, "is not a directory");
        return cannot(entry, error);
    }

    bool check_link(const ReceiptEntry& entry) {
        const auto [directory, leaf] = split_leaf(entry.path);
        int error = 0;
        const UniqueFd parent = base_.open_directory(directory, error);
        if (!parent) return cannot(entry, error);
        std::array<char, PATH_MAX> target{};
        const ssize_t length = ::readlinkat(parent.get(), leaf.c_str(), target.data(), target.size());
        if (length < 0 && errno == EINVAL) return differs(entry, "is not a symbolic link");
        if (length < 0) return cannot(entry, errno);
        if (std::string_view(target.data(), static_cast<std::size_t>(length)) == entry.target) return true;
        return differs(entry, "has another target");
    }

    bool check_file(const ReceiptEntry& entry) {
        ++counts_.files;
        add_up(counts_.bytes, bytes_of(entry).length);
        int error = 0;
        // O_NONBLOCK: opening a FIFO in the place of the file must not block.
        const UniqueFd fd = base_.open_at(entry.path, O_RDONLY | O_NONBLOCK, 0, error);
        if (!fd && error == ELOOP) return differs(entry, "is not a regular file");
        if (!fd) return cannot(entry, error);
        struct stat status = {};
        if (::fstat(fd.get(), &status) != 0) return cannot(entry, errno);
        if (!S_ISREG(status.st_mode)) return differs(entry, "is not a regular file");
        const auto size = static_cast<std::uint64_t>(status.st_size);
        bool same = true;
        if (size != entry.size) {
            same = differs(entry, "has " + std::to_string(size) + " bytes, not " + std::to_string(entry.size));
        }
        return check_content(entry, fd.get(), size) && same;
    }

    /// Accepts a copy as well: a receipt is about the content.
    bool check_other_name(const ReceiptEntry& entry) {
        if (is_same_file(base_, entry.path, entry.target)) {
            ++counts_.files;
            return true;
        }
        const ReceiptEntry* const first = find_file(entry.target);
        if (first == nullptr) return differs(entry, "is not the same file as " + escape_name(entry.target));
        ReceiptEntry copy = *first;
        copy.path = entry.path;
        return check_file(copy);
    }

    const ReceiptEntry* find_file(const std::string& path) {
        // Few receipts have names to look up.
        if (files_.empty()) {
            for (const ReceiptEntry& entry : receipt_.entries) {
                if (entry.type == EntryType::file) files_.emplace(entry.path, &entry);
            }
        }
        const auto found = files_.find(path);
        return found == files_.end() ? nullptr : found->second;
    }

    static FileRange bytes_of(const ReceiptEntry& entry) { return entry.part.value_or(FileRange{0, entry.size}); }

    /// Checks all blocks that exist, even if the file has another size: equal ones need not be sent again.
    bool check_content(const ReceiptEntry& entry, int fd, std::uint64_t size) {
        bool same = true;
        std::uint64_t from = bytes_of(entry).offset;
        const std::uint64_t end = from + bytes_of(entry).length;
        for (const ProvenPiece& piece : entry.pieces) {
            same = check_hole(entry, fd, from, piece.offset) && same;
            from = piece.offset + piece.length;
            if (from > size)
                return differs(entry, "there is no data from byte " + std::to_string(piece.offset) + " on");
            const auto digest = hasher_.hash(fd, piece.offset, piece.length);
            if (!digest) return cannot(entry, hasher_.error());
            if (*digest != piece.digest) same = differs(entry, span_text(piece.offset, from) + " differ");
        }
        return check_hole(entry, fd, from, std::min(end, size)) && same;
    }
    bool check_hole(const ReceiptEntry& entry, int fd, std::uint64_t from, std::uint64_t to) {
        if (to <= from) return true;
        const auto zero = hasher_.is_zero(fd, from, to - from);
        if (!zero) return cannot(entry, hasher_.error());
        return *zero || differs(entry, span_text(from, to) + " differ");
    }
    static std::string span_text(std::uint64_t from, std::uint64_t to) {
        return "bytes " + std::to_string(from) + " to " + std::to_string(to - 1);
    }

    const Receipt& receipt_;
    const ConfinedDir& base_;
    const CheckCallbacks& callbacks_;
    PieceHasher hasher_;
    CheckCounts counts_;
    std::unordered_map<std::string_view, const ReceiptEntry*> files_;  // of find_file(), filled at its first call
};

}  // namespace

CheckCounts check_receipt(const Receipt& receipt, const ConfinedDir& base, const CheckCallbacks& callbacks) {
    Checker checker(receipt, base, callbacks);
    for (const ReceiptEntry& entry : receipt.entries) checker.check(entry);
    return checker.counts();
}

}  // namespace udtx::transfer

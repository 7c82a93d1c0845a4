// An open file of the sources, and what the receiver has of it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

#include "transfer/file/occupant.hpp"
#include "transfer/source/kept_pieces.hpp"
#include "transfer/source/scanner.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

struct SourceFile {
    ScannedEntry entry;
    UniqueFd fd;
    struct stat before = {};  ///< state before it was read
    KeptPieces kept;
    std::optional<std::uint64_t> query{};  ///< the open query, if sending starts before its answer

    /// True if nothing says that it was changed since. It is the same file even if its inode number differs, as it may
    /// on FUSE.
    [[nodiscard]] bool stands(struct stat& now) const {
        if (::fstat(fd.get(), &now) != 0) return false;
        return same_times(before, now) && before.st_size == now.st_size;
    }
    [[nodiscard]] bool stands() const {
        struct stat now = {};
        return stands(now);
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(before.st_size); }
    /// The bytes of it that are sent.
    [[nodiscard]] Extent range() const { return entry.part.value_or(Extent{0, size()}); }
    /// True if the receiver may have all of it, under its name.
    [[nodiscard]] bool may_be_same() const { return kept.has() == Holding::all_pieces && size() == entry.size; }
    /// Compares another piece. It returns whether all pieces are the same, once that is known.
    [[nodiscard]] std::optional<bool> compare() { return kept.compare(fd.get(), size()); }
};

}  // namespace udtx::transfer

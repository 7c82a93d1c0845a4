// An open file of the sources, and what the receiver has of it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

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

    [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(before.st_size); }
    /// True if the receiver may have all of it, under its name.
    [[nodiscard]] bool may_be_same() const { return kept.has() == Holding::all_pieces && size() == entry.size; }
    /// Compares another piece. It returns whether all pieces are the same, once that is known.
    [[nodiscard]] std::optional<bool> compare() { return kept.compare(fd.get(), size()); }
};

}  // namespace udtx::transfer

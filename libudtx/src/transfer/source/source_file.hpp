// A file of the sources, open, and what the receiver has of it.
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
    struct stat before = {};  ///< it was read
    KeptPieces kept;
    std::optional<std::uint64_t> query{};  ///< not answered yet: it is begun before

    [[nodiscard]] std::uint64_t size() const noexcept { return static_cast<std::uint64_t>(before.st_size); }
    /// All of it may be at the receiver, under its name.
    [[nodiscard]] bool may_be_same() const { return kept.has() == Holding::all_pieces && size() == entry.size; }
    /// Compares another piece. Whether all are the same, when that is known.
    [[nodiscard]] std::optional<bool> compare() { return kept.compare(fd.get(), size()); }
};

}  // namespace udtx::transfer

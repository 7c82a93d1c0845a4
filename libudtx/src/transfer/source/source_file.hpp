// The file that a source reader is reading.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "transfer/file_digest.hpp"
#include "transfer/source/extent_cursor.hpp"
#include "transfer/source/resume_answers.hpp"
#include "transfer/source/source_reader.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

struct SourceReader::OpenFile {
    /// Why it is compared with what the receiver has: what comes if it is not the same.
    enum class Compare { not_now, before_entry, after_first_piece, for_plan };
    const ScannedEntry entry;
    UniqueFd fd;
    struct stat before = {};
    bool whole = false;
    FileDigest digest;
    RemoteHolding holding{};               ///< what is left of it to be compared
    std::optional<std::uint64_t> query{};  ///< not answered yet: it was begun before
    std::uint64_t index = 0;
    Compare compare = Compare::not_now;
    std::uint64_t same_until = 0;  ///< up to here it was compared
    std::optional<ExtentCursor> cursor{};
    Extent range{};  ///< of the file, that is to be sent or left out next ...
    Extent fresh{};  ///< ... after this, which is to be sent
    std::uint64_t first_unsent_digest = 0;
    std::vector<Digest> digests{};
    std::uint64_t sent = 0;
    int error = 0;
};

}  // namespace udtx::transfer

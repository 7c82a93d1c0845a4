// A receipt: what a transfer delivered, as hashes of every block under one root. Format: docs/receipts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/job_shard.hpp"

namespace udtx::transfer {

struct ReceiptEntry {
    std::uint64_t index = 0;  ///< as in the transfer
    EntryType type = EntryType::file;
    std::string path;    ///< below the transfer's destination
    std::string target;  ///< of a symbolic link; of a hard link: the path of the file that it is another name of
    std::uint64_t size = 0;
    std::optional<FileRange> part{};  ///< of a file: only this of it was delivered
    std::vector<ProvenPiece> pieces;  ///< ascending; what lies between is zeros
    Digest digest;                    ///< of the file; empty: it was not delivered
};

struct Receipt {
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::vector<ReceiptEntry> entries;
    std::vector<std::string> undelivered;  ///< paths that were announced, and are in no entry
    std::optional<JobShard> shard{};       ///< of a job of several
};

/// integrity: the text is no receipt, is cut, was changed, or its hashes do not agree with each other. Entries that
/// were not delivered are left out.
Result<Receipt> parse_receipt(std::string_view text);

/// Digest of a file that consists of `pieces`.
[[nodiscard]] Digest digest_of(HashAlgorithm hash, std::uint64_t size, const std::vector<ProvenPiece>& pieces);

}  // namespace udtx::transfer

// A receipt: what a transfer delivered, as hashes of every block under one root.
//
// A receipt is text. A line ends with a newline, and a tab separates its fields. Numbers are decimal, digests
// hexadecimal in lower case. A path starts at the transfer's destination. In paths and targets, tab, newline, return
// and backslash are \t, \n, \r and \\; all other bytes are as they are.
//
// | line                                | meaning                                                          |
// |-------------------------------------|------------------------------------------------------------------|
// | udtx-receipt 1 HASH                 | first line; HASH is xxh3-128 or sha256                           |
// | shard INDEX COUNT JOB SPLIT         | second line, of a shard only: the fields of JobShard             |
// | dir INDEX PATH                      | directory. INDEX counts the entries of the transfer              |
// | link INDEX PATH TARGET              | symbolic link                                                    |
// | hard INDEX PATH FIRST-PATH          | another name of the file FIRST-PATH, which has the file line     |
// | file INDEX PATH SIZE                | file; its piece lines and its digest line follow                 |
// | part INDEX PATH SIZE OFFSET LENGTH  | the same of a part of a file. Its pieces lie within the part     |
// | piece OFFSET LENGTH DIGEST          | at most 1 MiB. Offsets ascend; the bytes between pieces are zero |
// | digest DIGEST                       | H(u64 SIZE, for each piece: u64 OFFSET, u64 LENGTH, its DIGEST)  |
// | job RUN                             | of a shard only, after the failed lines: JobState::run           |
// | failed INDEX                        | the receiver could not deliver this entry                        |
// | root DIGEST                         | H(for each digest line, in order: u64 INDEX, its DIGEST)         |
// | end DIGEST                          | last line: H(all bytes before this line)                         |
//
// H is the hash of the first line; u64 is in network byte order. A file without a digest line was not delivered. A file
// that an earlier run delivered has a second, complete entry before the failed lines: the receipt's writer reads and
// hashes it when the transfer ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

struct ReceiptEntry {
    std::uint64_t index = 0;  ///< as in the transfer
    EntryType type = EntryType::file;
    std::string path;    ///< below the transfer's destination
    std::string target;  ///< of a symbolic link; of a hard link: path of the other name of its file
    std::uint64_t size = 0;
    std::optional<FileRange> part{};  ///< of a file: only this part was delivered
    std::vector<ProvenPiece> pieces;  ///< ascending; the bytes between them are zero
    Digest digest;                    ///< of the file; empty: it was not delivered
};

struct Receipt {
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::vector<ReceiptEntry> entries;
    std::vector<std::string> undelivered;  ///< announced paths that no entry covers
    std::optional<JobShard> shard{};       ///< of a job with several shards; JobShard::run is that of the job line
};

/// integrity: the text is not a receipt, is truncated or changed, or its hashes contradict each other. Entries that
/// were not delivered are left out.
Result<Receipt> parse_receipt(std::string_view text);

/// Writes one line: the tab-separated fields, of which texts are escaped, and the newline.
template <class... Fields>
[[nodiscard]] std::string receipt_line(std::string_view kind, const Fields&... fields) {
    std::string line(kind);
    const auto add = [&line](const auto& field) {
        using Field = std::decay_t<decltype(field)>;
        line += '\t';
        if constexpr (std::is_integral_v<Field>) {
            line += std::to_string(field);
        } else if constexpr (std::is_same_v<Field, Digest>) {
            line += field.hex();
        } else {
            line += escape_field(field);
        }
    };
    (add(fields), ...);
    return line + '\n';
}
[[nodiscard]] std::string first_line(HashAlgorithm hash);
/// The line that announces the entry.
[[nodiscard]] std::string entry_line(const ReceiptEntry& entry);
[[nodiscard]] std::string piece_line(const ProvenPiece& piece);

}  // namespace udtx::transfer

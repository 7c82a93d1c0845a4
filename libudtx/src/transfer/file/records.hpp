// A file of records: a resume journal or the file that the shards of a job share.
//
//   record = u16 length of body | u64 check | body
//   check  = first eight bytes of XXH3-128(body), seeded with the record's offset in the file
//   body   = u8 type | fields
//
// Integers are in network byte order. Encodings of fields:
//
//   varint   RFC 9000, section 16
//   path     varint number of components | for each: varint length, bytes
//   digest   varint length (16 or 32) | bytes
//   time     u64 seconds since 1970, two's complement | varint nanoseconds
//   hash     u8: 1 XXH3-128, 2 SHA-256
//   key      u64: first eight bytes of XXH3-128(path, components joined by '/')
//
// A later release adds fields behind those of a record, and types from 64 to 127. A reader skips them. A release writes
// the versions of files that the release before it reads.
//
// A record copied to another place fails its check. A reader stops at the first record that is cut short, that its
// check rejects, or that contradicts the records before it.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/release.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/fields.hpp"
#include "wire/cursor.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxRecordBytes = 8U << 10U;
inline constexpr std::size_t kRecordHeadBytes = 2 + 8;  // length and check

/// Appends a record that begins at `offset` of its file.
inline void append_body(std::vector<std::byte>& out, std::uint64_t offset, std::span<const std::byte> body) {
    std::array<std::byte, kRecordHeadBytes> head{};
    wire::store_big_endian(head.data(), body.size(), 2);
    wire::store_big_endian(head.data() + 2, short_hash(body, offset), 8);
    out.insert(out.end(), head.begin(), head.end());
    out.insert(out.end(), body.begin(), body.end());
}
template <class... Records>
void append_record(std::vector<std::byte>& out, std::uint64_t offset, const std::variant<Records...>& record) {
    std::array<std::byte, kMaxRecordBytes> bytes;
    wire::Writer body(bytes);
    [[maybe_unused]] const bool fits = write_fields(body, record);
    assert(fits && "a record beyond its bounds");
    if constexpr (kFuture) (void)body.varint(kFutureField);
    const std::size_t before = out.size();
    append_body(out, offset, body.written());
    if constexpr (kFuture) {
        constexpr std::array kUnknown{std::byte{kFutureRecord}, std::byte{1}};
        append_body(out, offset + out.size() - before, kUnknown);
    }
}

/// Parses the body of a record. nullopt: it is malformed.
template <class Record>
[[nodiscard]] std::optional<Record> parse_record(std::span<const std::byte> body) {
    FieldReader in(body);
    std::optional<Record> record;
    read_fields(in, record);
    return in.complete() ? record : std::nullopt;
}

/// Calls apply(record) for each record of `bytes`, which begin at `offset` of their file, until it returns false.
/// Returns the size of the records before that, or before the first one that is torn, altered or malformed.
template <class Record, class Apply>
std::size_t read_records(std::span<const std::byte> bytes, std::uint64_t offset, Apply apply) {
    std::size_t read = 0;
    for (;;) {
        const auto rest = bytes.subspan(read);
        if (rest.size() < kRecordHeadBytes) return read;
        const auto length = static_cast<std::size_t>(wire::load_big_endian(rest.data(), 2));
        if (length > rest.size() - kRecordHeadBytes) return read;
        const auto body = rest.subspan(kRecordHeadBytes, length);
        if (wire::load_big_endian(rest.data() + 2, 8) != short_hash(body, offset + read)) return read;
        const auto type = body.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(body[0]);
        if (type < kExtensionTypes || type >= kMandatoryTypes) {
            const auto record = parse_record<Record>(body);
            if (!record || !std::visit(apply, *record)) return read;
        }
        read += kRecordHeadBytes + length;
    }
}

}  // namespace udtx::transfer

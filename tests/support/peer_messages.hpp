// Helpers for test peers that exchange a transfer's messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "peer_program.hpp"
#include "transfer/checksum.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/core/connection.hpp"

namespace udtx::test {

/// Calls `hear` for each complete message of the stream.
template <class Reader, class Hear>
void hear_all(proto::Connection& connection, StreamId stream, Reader& reader, const Hear& hear) {
    std::array<std::byte, 16384> block{};
    for (;;) {
        const auto got = connection.read(stream, block);
        if (got.bytes == 0) return;
        reader.feed(std::span(block).first(got.bytes));
        while (const auto next = need(reader.next())) hear(*next);
    }
}

/// Sends the digests of a file of at most one piece, as if `hashed` were its content. Returns the digest of the file.
template <class Put>
transfer::Digest put_digests(std::uint64_t index, std::uint64_t size, std::span<const std::byte> hashed,
                             const Put& put) {
    transfer::FileDigest digest(transfer::HashAlgorithm::xxh3_128, size);
    if (size > 0) {
        transfer::Hasher hasher(transfer::HashAlgorithm::xxh3_128);
        hasher.update(hashed);
        const transfer::Digest piece = hasher.finish();
        digest.add(0, size, piece);
        put(transfer::message::Digests{index, 0, {piece}});
    }
    return digest.finish();
}

}  // namespace udtx::test

// Numbers on the wire that only the message codec uses.
#pragma once

#include <cstdint>

namespace udtx::transfer {

enum class MessageType : std::uint8_t {
    offer = 1,
    entry = 2,
    extents = 3,
    digests = 4,
    file_end = 5,
    finish = 6,
    kept = 7,
    query = 8,
    meta = 9,
    rules = 10,
    plan = 11,
    sources = 12,
    unsent = 13,
    found = 14,
    paths = 15,
    accept = 16,
    file_failed = 17,
    delivered = 18,
    confirm = 19,
    stopped = 20,
    resume = 21,
    answer = 22,
    load = 23,
    cap = 24,
    erased = 25,
    pull = 26,
    names = 27,
    unset = 28,
    note = 29,
    share = 30,
    job = 31,
};

inline constexpr std::uint64_t kMostBitsPerSecond = 1'000'000'000'000'000;
inline constexpr std::uint64_t kMostDatagramBytes = 65535;

inline constexpr std::uint8_t kOfferPreserve = 1;
inline constexpr std::uint8_t kOfferOwner = 2;
inline constexpr std::uint8_t kOfferSparse = 4;
inline constexpr std::uint8_t kOfferDryRun = 8;
inline constexpr std::uint8_t kOfferErase = 16;
inline constexpr std::uint8_t kOfferByDigest = 32;
inline constexpr std::uint8_t kOfferSetId = 64;
inline constexpr std::uint8_t kOfferShard = 128;

inline constexpr std::uint64_t kPullPreserve = 1;
inline constexpr std::uint64_t kPullOwner = 2;
inline constexpr std::uint64_t kPullSparse = 4;
inline constexpr std::uint64_t kPullDryRun = 8;
inline constexpr std::uint64_t kPullErase = 16;
inline constexpr std::uint64_t kPullByDigest = 32;
inline constexpr std::uint64_t kPullAttributes = 64;
inline constexpr std::uint64_t kPullHardLinks = 128;
inline constexpr std::uint64_t kPullNamed = 256;
inline constexpr std::uint64_t kPullIntoNamed = 512;
inline constexpr std::uint64_t kPullSetId = 1024;
inline constexpr std::uint64_t kPullPart = 2048;
inline constexpr std::uint64_t kPullShard = 4096;
inline constexpr std::uint64_t kPullFlags = 8191;

inline constexpr std::uint8_t kShardContent = 1;

inline constexpr std::uint8_t kResumeActive = 1;
inline constexpr std::uint8_t kResumeAnnounceAll = 2;
inline constexpr std::uint8_t kResumeKeeps = 4;

inline constexpr std::uint8_t kMetaOwner = 1;
inline constexpr std::uint8_t kMetaAttributes = 2;
inline constexpr std::uint8_t kQueryPart = 4;

inline constexpr std::uint8_t kEntrySparse = 1;
inline constexpr std::uint8_t kEntryWhole = 2;
inline constexpr std::uint8_t kEntryPart = 4;

}  // namespace udtx::transfer

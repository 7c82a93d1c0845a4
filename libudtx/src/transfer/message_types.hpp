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
    accept = 16,
    file_failed = 17,
    delivered = 18,
    confirm = 19,
    stopped = 20,
    resume = 21,
    answer = 22,
    load = 23,
    cap = 24,
};

inline constexpr std::uint8_t kEntrySparse = 1;
inline constexpr std::uint8_t kEntryWhole = 2;

}  // namespace udtx::transfer

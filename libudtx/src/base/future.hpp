// What a later release may add to each format. Only the build for tests/compat has it: it shows that this release talks
// to such a peer and reads what it wrote.
#pragma once

#include <cstdint>

namespace udtx {

#ifdef UDTX_FUTURE
inline constexpr bool kFuture = true;
#else
inline constexpr bool kFuture = false;
#endif

inline constexpr std::uint8_t kFutureFrame = 0x7e;
inline constexpr std::uint64_t kFutureParameter = 99;
inline constexpr std::uint8_t kFutureMessage = 100;
inline constexpr std::uint8_t kFutureRecord = 100;
inline constexpr std::uint64_t kFutureField = 7;

}  // namespace udtx

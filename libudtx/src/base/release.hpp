// Releases as numbers on the wire. Each end tells its own (proto/transport_parameters.hpp) and sends only what the
// older of both releases knows. Rules: docs/inside/wire-format.md, section 6.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/result.hpp"
#include "udtx/version.hpp"

namespace udtx {

// What a later release may add to each format. Only the tools of tests/compat have it: they show that this release
// talks to such a peer and reads what it wrote.
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

/// 1000 times the major version, plus the minor version.
inline constexpr std::uint64_t kRelease = 1000 * UDTX_VERSION_MAJOR + UDTX_VERSION_MINOR + (kFuture ? 1 : 0);

[[nodiscard]] inline std::string release_text(std::uint64_t release) {
    return std::to_string(release / 1000) + "." + std::to_string(release % 1000);
}

/// The peer sent `what`, which this release does not know and must not skip.
[[nodiscard]] inline Error needs_release(const std::string& what, std::uint64_t release) {
    return {ErrorCode::protocol, "the peer uses " + what + " of udtx " + release_text(release) + ", and this is udtx " +
                                     release_text(kRelease) + ": install udtx " + release_text(release) +
                                     " or newer here"};
}

}  // namespace udtx

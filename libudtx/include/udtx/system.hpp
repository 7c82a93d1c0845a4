// The operating system's clock and random source.
#pragma once

#include "udtx/core/crypto.hpp"
#include "udtx/export.hpp"
#include "udtx/rate.hpp"

namespace udtx {

// The clock of the library's threads.

/// Returns the current time of std::chrono::steady_clock, which never goes back.
[[nodiscard]] UDTX_EXPORT Instant monotonic_now() noexcept;

// Random bytes from the operating system.

/// OpenSSL's generator. The system seeds it, and seeds it again after fork().
class UDTX_EXPORT SystemRng final : public Rng {
  public:
    /// Fills `out`. Any thread. Throws std::bad_alloc if the system provides no random bytes, because nothing would be
    /// secret then.
    void fill(std::span<std::byte> out) override;
};

}  // namespace udtx

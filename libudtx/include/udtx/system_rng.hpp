// Random bytes of the operating system.
#pragma once

#include "udtx/core/rng.hpp"
#include "udtx/export.hpp"

namespace udtx {

/// The generator of OpenSSL, which the system seeds, after fork() again.
class UDTX_EXPORT SystemRng final : public Rng {
  public:
    /// Fills `out`. Any thread. Throws std::bad_alloc if the system gives no random bytes, since nothing would be
    /// secret.
    void fill(std::span<std::byte> out) override;
};

}  // namespace udtx

// Random bytes from the operating system.
#pragma once

#include "udtx/core/rng.hpp"
#include "udtx/export.hpp"

namespace udtx {

/// OpenSSL's generator. The system seeds it, and seeds it again after fork().
class UDTX_EXPORT SystemRng final : public Rng {
  public:
    /// Fills `out`. Any thread. Throws std::bad_alloc if the system provides no random bytes, because nothing would be
    /// secret then.
    void fill(std::span<std::byte> out) override;
};

}  // namespace udtx

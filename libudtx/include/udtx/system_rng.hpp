// The real source of randomness.
#pragma once

#include "udtx/core/rng.hpp"
#include "udtx/export.hpp"

namespace udtx {

/// OpenSSL's generator: seeded by the system, reseeded after a fork.
class UDTX_EXPORT SystemRng final : public Rng {
  public:
    /// Any thread. Throws std::bad_alloc where the system has no randomness: nothing that follows would be secret.
    void fill(std::span<std::byte> out) override;
};

}  // namespace udtx

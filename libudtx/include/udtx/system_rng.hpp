// The real source of randomness.
#pragma once

#include "udtx/core/rng.hpp"
#include "udtx/export.hpp"

namespace udtx {

/// OpenSSL's generator: seeded by the system, reseeded after a fork. Thread-safe. Throws std::bad_alloc where the
/// system has no randomness to give, because nothing that follows would be secret.
class UDTX_EXPORT SystemRng final : public Rng {
  public:
    void fill(std::span<std::byte> out) override;
};

}  // namespace udtx

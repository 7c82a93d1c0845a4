// The real source of randomness.
#pragma once

#include "udtx/core/rng.hpp"

namespace udtx::io {

/// OpenSSL's generator: seeded by the system, reseeded after a fork. Thread-safe. Ends the process when the system has
/// no randomness to give, because nothing that follows would be secret.
class SystemRng final : public Rng {
  public:
    void fill(std::span<std::byte> out) override;
};

}  // namespace udtx::io

// Random bytes for the core. A program uses those of the operating system, a simulator uses a seeded generator. They
// become connection ids, challenges and gaps in packet numbers. Except in simulators nobody may be able to predict
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "udtx/export.hpp"

namespace udtx {

/// A source of random bytes.
class UDTX_EXPORT Rng {
  public:
    virtual ~Rng() = default;
    /// Fills `out`.
    virtual void fill(std::span<std::byte> out) = 0;

    /// Returns 64 random bits.
    [[nodiscard]] std::uint64_t next_u64() {
        std::uint64_t v = 0;
        fill(std::as_writable_bytes(std::span(&v, 1)));
        return v;
    }
};

}  // namespace udtx

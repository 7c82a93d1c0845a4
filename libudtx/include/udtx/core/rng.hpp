// Random bytes for the core: those of the operating system in a program, seeded ones in a simulator. They become
// connection ids, challenges and gaps of packet numbers. Except in simulators nobody may be able to guess them.
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

    /// 64 random bits.
    [[nodiscard]] std::uint64_t next_u64() {
        std::uint64_t v = 0;
        fill(std::as_writable_bytes(std::span(&v, 1)));
        return v;
    }
};

}  // namespace udtx

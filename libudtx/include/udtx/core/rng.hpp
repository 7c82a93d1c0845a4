// Randomness is handed in: the operating system's in a program, a seeded one in a simulator. Its bytes become packet
// numbers that are left out, challenges and connection ids: outside of simulators they must not be guessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "udtx/export.hpp"

namespace udtx {

class UDTX_EXPORT Rng {
  public:
    virtual ~Rng() = default;
    virtual void fill(std::span<std::byte> out) = 0;

    [[nodiscard]] std::uint64_t next_u64() {
        std::uint64_t v = 0;
        fill(std::as_writable_bytes(std::span(&v, 1)));
        return v;
    }
};

}  // namespace udtx

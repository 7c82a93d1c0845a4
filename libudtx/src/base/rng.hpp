// Randomness is handed in: the real source in io/, a seeded one in the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace udtx {

class Rng {
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

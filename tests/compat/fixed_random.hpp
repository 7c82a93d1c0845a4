// OpenSSL with bytes from a test in place of random ones.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace udtx::test {

/// While it exists, OpenSSL takes its random bytes from `fill`. One at a time.
class FixedRandom {
  public:
    explicit FixedRandom(std::function<void(std::span<std::byte>)> fill);
    ~FixedRandom();
    FixedRandom(const FixedRandom&) = delete;
    FixedRandom& operator=(const FixedRandom&) = delete;
};

}  // namespace udtx::test

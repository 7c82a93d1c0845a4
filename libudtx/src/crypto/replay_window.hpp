// The packet numbers received on one path. Each is accepted once; numbers older than the window are rejected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "udtx/ids.hpp"

namespace udtx::crypto {

/// A bitmap of the newest numbers. It covers at least `packets` - 64 of them. Its memory grows with the numbers seen,
/// up to packets / 8 bytes.
class ReplayWindow {
  public:
    /// More than the packets in flight at 10 Gbit/s over 200 ms (178k packets of 1,400 bytes).
    static constexpr std::uint64_t kDefaultPackets = 1ULL << 18U;

    /// `packets`: a power of two, at least 128.
    explicit ReplayWindow(std::uint64_t packets = kDefaultPackets);

    /// True if the number is neither seen nor too old. Call it before opening; call mark() only after the packet
    /// authenticated.
    [[nodiscard]] bool check(PacketNumber number) const noexcept;
    void mark(PacketNumber number);

    [[nodiscard]] std::size_t memory_bytes() const noexcept { return words_.size() * sizeof(std::uint64_t); }

  private:
    [[nodiscard]] std::size_t slot(std::uint64_t word) const noexcept {
        return static_cast<std::size_t>(word & (words_.size() - 1));
    }
    void advance_to(std::uint64_t word);

    std::uint64_t max_words_;
    std::uint64_t top_word_ = 0;        // number / 64 of the newest number marked
    std::vector<std::uint64_t> words_;  // word w is at slot w mod size; the size is a power of two
};

}  // namespace udtx::crypto

// Which packet numbers of one path were received: each is accepted once, and none that fell out of the window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "udtx/ids.hpp"

namespace udtx::crypto {

/// A bitmap over the newest numbers. Covers at least `packets` - 64 of them; memory grows with the numbers seen and
/// ends at packets / 8 bytes.
class ReplayWindow {
  public:
    /// More than what is in flight at 10 Gbit/s over 200 ms (178k packets of 1,400 bytes).
    static constexpr std::uint64_t kDefaultPackets = 1ULL << 18U;

    /// `packets`: a power of two, at least 128.
    explicit ReplayWindow(std::uint64_t packets = kDefaultPackets);

    /// True: neither seen nor too old. To be asked before opening; mark() only after the packet authenticated.
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
    std::vector<std::uint64_t> words_;  // word w at slot w mod size; size a power of two
};

}  // namespace udtx::crypto

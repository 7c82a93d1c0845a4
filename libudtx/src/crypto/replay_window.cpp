#include "crypto/replay_window.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace udtx::crypto {
namespace {

constexpr std::uint64_t kWordBits = 64;

constexpr std::uint64_t bit_of(PacketNumber number) noexcept { return 1ULL << (number % kWordBits); }

}  // namespace

ReplayWindow::ReplayWindow(std::uint64_t packets) : max_words_(packets / kWordBits) {
    assert(std::has_single_bit(packets) && packets >= 2 * kWordBits);
}

bool ReplayWindow::check(PacketNumber number) const noexcept {
    const std::uint64_t word = number / kWordBits;
    if (words_.empty() || word > top_word_) return true;
    if (top_word_ - word >= max_words_) return false;
    // While words_ is smaller than the window, every word from 0 on has a slot.
    return (words_[slot(word)] & bit_of(number)) == 0;
}

void ReplayWindow::mark(PacketNumber number) {
    const std::uint64_t word = number / kWordBits;
    if (words_.empty() || word > top_word_) advance_to(word);
    if (top_word_ - word < max_words_) words_[slot(word)] |= bit_of(number);
}

void ReplayWindow::advance_to(std::uint64_t word) {
    if (words_.size() < max_words_ && word >= words_.size()) {
        const std::uint64_t size = word >= max_words_ ? max_words_ : std::min(max_words_, std::bit_ceil(word + 1));
        words_.resize(static_cast<std::size_t>(size));  // up to here word w is at slot w, and it stays there
    }
    const std::uint64_t stale = std::min<std::uint64_t>(word - top_word_, words_.size());
    for (std::uint64_t i = 0; i < stale; ++i) words_[slot(word - i)] = 0;
    top_word_ = word;
}

}  // namespace udtx::crypto

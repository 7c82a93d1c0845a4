#include "transfer/pieces/file_verifier.hpp"

namespace udtx::transfer {

void FileVerifier::computed(std::uint64_t ordinal, std::uint64_t offset, std::uint64_t length, const Digest& digest) {
    Slot& slot = slots_[ordinal];
    slot.offset = offset;
    slot.length = length;
    slot.computed = digest;
    advance();
}

void FileVerifier::expected(std::uint64_t ordinal, const Digest& digest) {
    if (ordinal < next_) return;
    slots_[ordinal].expected = digest;
    advance();
}

void FileVerifier::advance() {
    while (!slots_.empty() && slots_.begin()->first == next_) {
        const Slot& slot = slots_.begin()->second;
        if (!slot.computed || !slot.expected) return;
        if (*slot.computed != *slot.expected) mismatch_ = true;
        digest_.add(slot.offset, slot.length, *slot.computed);
        slots_.erase(slots_.begin());
        ++next_;
    }
}

}  // namespace udtx::transfer

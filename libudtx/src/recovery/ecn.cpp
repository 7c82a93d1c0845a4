#include "recovery/ecn.hpp"

#include <algorithm>

namespace udtx::recovery {

void EcnReceipts::count(proto::Ecn mark, PacketNumber largest) noexcept {
    switch (mark) {
        case proto::Ecn::not_ect:
            return;
        case proto::Ecn::ect1:
            ++counts_.ect1;
            break;
        case proto::Ecn::ect0:
            ++counts_.ect0;
            break;
        case proto::Ecn::ce:
            ++counts_.ce;
            break;
    }
    changed_at_ = largest;
    due_ = true;
}

void EcnMarking::on_sent() noexcept {
    ++marked_;
    if (state_ == State::testing && to_mark_ > 0) --to_mark_;
}

// RFC 9000, section 13.4.2.1: counts never fall, and each acknowledged packet that was marked is in one of them. There
// are no marks that this end did not send.
bool EcnMarking::credible(const EcnCounts& counts, std::uint64_t acked) const noexcept {
    return counts.ect0 >= known_.ect0 && counts.ce >= known_.ce && counts.ect1 == 0 &&
           (counts.ect0 - known_.ect0) + (counts.ce - known_.ce) >= acked && counts.ect0 + counts.ce <= marked_;
}

std::uint64_t EcnMarking::on_ack(const std::optional<EcnCounts>& told, std::uint64_t acked) noexcept {
    if (state_ == State::failed) return 0;
    const EcnCounts counts = told.value_or(known_);
    if (!credible(counts, acked)) {
        state_.enter(State::failed);
        return 0;
    }
    const bool kept = counts.ect0 > known_.ect0;
    known_ = counts;
    if (state_ == State::testing) {
        // A path that marks everything says nothing about congestion.
        if (!kept) {
            decide(acked);
            return 0;
        }
        state_.enter(State::capable);
    }
    const std::uint64_t fresh = std::min(counts.ce - ce_told_, acked);
    ce_told_ += fresh;
    return fresh;
}

bool EcnMarking::on_lost(PacketNumber number) noexcept {
    if (state_ != State::testing || number < test_from_) return false;
    decide(1);
    return true;
}

/// The fate of so many test packets is known, and it does not show that the path keeps marks.
void EcnMarking::decide(std::uint64_t packets) noexcept {
    undecided_ -= std::min(packets, undecided_);
    if (undecided_ == 0) state_.enter(State::failed);
}

void EcnMarking::on_silence(PacketNumber next) noexcept {
    if (state_ == State::capable) restart(next);
}

void EcnMarking::restart(PacketNumber next) noexcept {
    if (!wanted_) return;
    if (state_ != State::testing) state_.enter(State::testing);
    test_from_ = next;
    to_mark_ = undecided_ = kTestPackets;
    ce_told_ = known_.ce;
}

}  // namespace udtx::recovery

// Explicit congestion notification of a path (RFC 3168; RFC 9000, section 13.4).
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/core/datagram.hpp"
#include "udtx/ids.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::recovery {

/// Authentic packets of a path, without duplicates, by their marks.
struct EcnCounts {
    std::uint64_t ect0 = 0;
    std::uint64_t ect1 = 0;
    std::uint64_t ce = 0;
    friend constexpr bool operator==(const EcnCounts&, const EcnCounts&) noexcept = default;
};

// The receiver's half.

/// Counts the marks, and knows whether the next ACK must report them. An ACK without them means that they are as the
/// peer knows them. So they are repeated until the peer has acknowledged one of these ACKs.
class EcnReceipts {
  public:
    /// `largest`: the largest packet number received so far, including this packet.
    void count(proto::Ecn mark, PacketNumber largest) noexcept;
    /// The peer knows an ACK whose largest number is `ack_largest`.
    void on_ack_acknowledged(PacketNumber ack_largest) noexcept { due_ = due_ && ack_largest < changed_at_; }
    [[nodiscard]] bool due() const noexcept { return due_; }
    [[nodiscard]] const EcnCounts& counts() const noexcept { return counts_; }

  private:
    EcnCounts counts_;
    PacketNumber changed_at_ = 0;  // largest packet number at the last change
    bool due_ = false;
};

// The sender's half.

/// Decides which packets are marked with ECT(0), and whether the peer's counts can be true (RFC 9000, section 13.4.2).
class EcnMarking {
  public:
    enum class State : std::uint8_t {
        testing,  ///< a few packets are marked, to see whether packets and marks arrive
        capable,  ///< all data packets are marked
        failed,   ///< nothing is marked
    };
    /// RFC 9000, appendix A.4.
    static constexpr std::uint64_t kTestPackets = 10;

    explicit EcnMarking(bool wanted) noexcept : wanted_(wanted), state_(wanted ? State::testing : State::failed) {}

    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] bool works() const noexcept { return state_ != State::failed; }
    /// True if the packet with this number should be marked. In the test every other packet is. If the path drops
    /// marked packets, the others show this within a round trip.
    [[nodiscard]] bool marks(PacketNumber number) const noexcept {
        return state_ == State::capable || (state_ == State::testing && to_mark_ > 0 && number % 2 == 0);
    }
    /// A marked packet left.
    void on_sent() noexcept;
    /// An ACK has raised the largest acknowledged number. `told`: the counts that came with it, if any did. `acked`:
    /// newly acknowledged packets that were marked. Returns how many of them count as marked with CE.
    [[nodiscard]] std::uint64_t on_ack(const std::optional<EcnCounts>& told, std::uint64_t acked) noexcept;
    /// A marked packet is lost. True: this does not show congestion, because the mark may be the cause.
    [[nodiscard]] bool on_lost(PacketNumber number) noexcept;
    /// A probe timeout: perhaps the path now drops marked packets. `next`: the next packet number.
    void on_silence(PacketNumber next) noexcept;
    /// The path now leads through another network.
    void restart(PacketNumber next) noexcept;

  private:
    static constexpr Step<State> kSteps[] = {
        {State::testing, State::capable},  // the peer counted an ECT(0)
        {State::testing, State::failed},   // all test packets were lost or marked with CE, or the counts are wrong
        {State::capable, State::failed},   // the counts are wrong
        {State::capable, State::testing},  // nothing arrives, or another network
        {State::failed, State::testing},   // another network
    };
    [[nodiscard]] bool credible(const EcnCounts& counts, std::uint64_t acked) const noexcept;
    void decide(std::uint64_t packets) noexcept;

    bool wanted_;
    Lifecycle<kSteps> state_;
    std::uint64_t marked_ = 0;                // all packets that were marked
    std::uint64_t to_mark_ = kTestPackets;    // test packets that have not left
    std::uint64_t undecided_ = kTestPackets;  // test packets that are neither acknowledged nor lost
    PacketNumber test_from_ = 0;
    EcnCounts known_;
    std::uint64_t ce_told_ = 0;  // CE marks that on_ack() has returned
};

}  // namespace udtx::recovery

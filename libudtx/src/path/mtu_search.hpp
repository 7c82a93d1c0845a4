// Datagram size of a path by probing (RFC 8899, DPLPMTUD): starts at a size that passes everywhere, searches upwards
// with padded probes, falls back when large datagrams vanish while small ones pass.
//
// Order of calls: probe_due() -> send a probe of that size -> on_probe_sent(), then on_probe_acked() or
// on_probe_lost(); on_acked() and on_lost() for every other packet. Sizes are UDP payloads.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/ids.hpp"
#include "udtx/time.hpp"

namespace udtx::path {

class MtuSearch {
  public:
    MtuSearch(std::uint32_t minimum, std::uint32_t maximum)
        : minimum_(minimum), maximum_(maximum), current_(minimum), ceiling_(maximum) {}

    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }
    /// A size that passes everywhere: what to send to learn whether the path is silent or only swallows large packets.
    [[nodiscard]] std::uint32_t minimum() const noexcept { return minimum_; }
    /// Size to probe now, if a probe is due.
    [[nodiscard]] std::optional<std::uint32_t> probe_due(Instant now) const;
    /// When probe_due() may change by time alone.
    [[nodiscard]] std::optional<Instant> deadline() const;
    void on_probe_sent() noexcept { in_flight_ = true; }
    void on_probe_acked(Instant now, std::uint32_t size);
    void on_probe_lost(Instant now, std::uint32_t size);
    /// The local interface refused this size (EMSGSIZE).
    void on_too_large(Instant now, std::uint32_t size);

    /// A packet that was no probe arrived. One larger than current() takes the size back up: what seemed to be a
    /// black hole was a delay.
    void on_acked(Instant now, PacketNumber number, std::uint32_t size);
    /// A packet that was no probe was lost, which is only known because a later one arrived. Losses of large packets
    /// alone, a few of them over at least `patience`, are a black hole (RFC 8899, section 4.3): the minimum from now
    /// on. Silence is none.
    void on_lost(Instant sent, PacketNumber number, std::uint32_t size, Duration patience);
    /// The path may have changed: the minimum, until current() has been found to pass again.
    void verify();
    /// Another path: what was learned is void.
    void restart();

  private:
    static constexpr int kTries = 3;
    static constexpr int kBlackHoleLosses = 3;
    static constexpr std::uint32_t kStep = 16;  // the search ends when fewer bytes are at stake
    static constexpr Duration kRaiseAgain = std::chrono::minutes(10);

    [[nodiscard]] std::uint32_t next_size() const;
    void refuse(Instant now, std::uint32_t size);
    void rest_if_searched(Instant now);

    std::uint32_t minimum_;
    std::uint32_t maximum_;
    std::uint32_t current_;
    std::uint32_t ceiling_;       // largest size not known to fail
    std::uint32_t previous_ = 0;  // before a black hole: asked for first, in case it was none
    int tries_ = 0;
    bool in_flight_ = false;
    std::optional<Instant> resume_;  // not before this

    std::optional<PacketNumber> large_acked_;  // newest packet above the minimum that arrived
    int large_losses_ = 0;                     // of newer ones
    Instant first_large_loss_;                 // when the first of them was sent
};

}  // namespace udtx::path

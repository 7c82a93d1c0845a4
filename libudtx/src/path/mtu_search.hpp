// Finds the datagram size of a path by probing (RFC 8899, DPLPMTUD). It starts at a size that passes everywhere and
// searches upwards with padded probes. It falls back if large datagrams are lost while small ones pass.
//
// Order of calls: probe_due() -> send a probe of that size -> on_probe_sent(), then on_probe_acked() or
// on_probe_lost(); on_acked() and on_lost() for every other packet. Sizes are UDP payloads.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::path {

class MtuSearch {
  public:
    /// No path may be this narrow: what an IPv4 packet of 576 bytes holds.
    static constexpr std::uint32_t kLeast = 548;

    /// `doubtful`: the path has not carried `minimum` yet. The search then starts at kLeast and first probes `minimum`.
    MtuSearch(std::uint32_t minimum, std::uint32_t maximum, bool doubtful = false)
        : usual_minimum_(minimum),
          minimum_(doubtful ? kLeast : minimum),
          maximum_(maximum),
          current_(minimum_),
          ceiling_(maximum),
          previous_(doubtful ? minimum : 0) {}

    /// A path that is known to carry `size`. It is not probed.
    [[nodiscard]] static MtuSearch known(std::uint32_t minimum, std::uint32_t size) {
        MtuSearch search(minimum, size);
        search.current_ = size;
        return search;
    }

    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }
    /// A size that passes unless the path is very narrow. A packet of this size shows whether the path has failed or
    /// drops only large packets.
    [[nodiscard]] std::uint32_t minimum() const noexcept { return minimum_; }
    /// The size to probe now; nullopt if no probe is due.
    [[nodiscard]] std::optional<std::uint32_t> probe_due(Instant now) const;
    /// When the passing of time alone may change probe_due().
    [[nodiscard]] std::optional<Instant> deadline() const;
    void on_probe_sent() noexcept {
        assert(!in_flight_);
        in_flight_ = true;
    }
    void on_probe_acked(Instant now, std::uint32_t size);
    void on_probe_lost(Instant now, std::uint32_t size);
    /// The local interface refused this size (EMSGSIZE). If it refuses even the minimum, the minimum falls to kLeast.
    void on_too_large(Instant now, std::uint32_t size);

    /// An ICMP message says that the path carries only `size`. Anyone may have forged it, so that only probes decide
    /// (RFC 8899, section 4.6.2): one of current() if that is larger, and then one of `size`. A probe above it counts
    /// as refused when it is lost once.
    void on_told(std::uint32_t size) noexcept;

    /// A packet other than a probe was acknowledged. If it is larger than current(), the size rises to it: the presumed
    /// black hole was a delay.
    void on_acked(Instant now, PacketNumber number, std::uint32_t size);
    /// A packet other than a probe was lost, which is known because a later one arrived. If only large packets are
    /// lost, several over at least `patience`, the path is a black hole for them (RFC 8899, section 4.3). The size then
    /// drops to the minimum. A path from which nothing arrives does not count as a black hole.
    void on_lost(Instant sent, PacketNumber number, std::uint32_t size, Duration patience);
    /// The path may have changed: uses the minimum until a probe of the present size passes again.
    void verify();
    /// The path is another one: drops all results.
    void restart();

  private:
    static constexpr int kTries = 3;
    static constexpr int kBlackHoleLosses = 3;
    static constexpr std::uint32_t kStep = 16;  // the search ends when the gain is below this
    static constexpr Duration kRaiseAgain = std::chrono::minutes(10);

    [[nodiscard]] std::uint32_t next_size() const;
    void refuse(Instant now, std::uint32_t size);
    /// ICMP says that the path has become narrower than current().
    [[nodiscard]] bool doubted() const noexcept { return told_ != 0 && told_ < current_; }
    void on_passed(std::uint32_t size);
    void rest_if_searched(Instant now);

    std::uint32_t usual_minimum_;
    std::uint32_t minimum_;
    std::uint32_t maximum_;
    std::uint32_t current_;
    std::uint32_t ceiling_;   // largest size not known to fail
    std::uint32_t previous_;  // size before the presumed black hole; probed first
    std::uint32_t told_ = 0;  // what ICMP says the path carries; 0: nothing
    int tries_ = 0;
    bool in_flight_ = false;
    std::optional<Instant> resume_;  // the next probe is sent no earlier than this

    std::optional<PacketNumber> large_acked_;  // newest acknowledged packet above the minimum
    int large_losses_ = 0;                     // lost packets above the minimum, newer than large_acked_
    Instant first_large_loss_;                 // when the first of these was sent
};

}  // namespace udtx::path

// Datagram size of a path by probing (RFC 8899, DPLPMTUD): starts at a size that passes everywhere, searches upwards
// with padded probes, falls back when large datagrams vanish.
//
// Order of calls: probe_due() -> send a probe of that size -> on_probe_sent(), then on_probe_acked() or
// on_probe_lost(). Sizes are UDP payloads.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/time.hpp"

namespace udtx::path {

class MtuSearch {
  public:
    MtuSearch(std::uint32_t minimum, std::uint32_t maximum)
        : minimum_(minimum), maximum_(maximum), current_(minimum), ceiling_(maximum) {}

    [[nodiscard]] std::uint32_t current() const noexcept { return current_; }
    /// Size to probe now, if a probe is due.
    [[nodiscard]] std::optional<std::uint32_t> probe_due(Instant now) const;
    /// When probe_due() may change by time alone.
    [[nodiscard]] std::optional<Instant> deadline() const;
    void on_probe_sent() noexcept { in_flight_ = true; }
    void on_probe_acked(Instant now, std::uint32_t size);
    void on_probe_lost(Instant now, std::uint32_t size);
    /// The local interface refused this size (EMSGSIZE).
    void on_too_large(Instant now, std::uint32_t size);
    /// Datagrams of current() vanish while small ones pass, or nothing at all comes back: minimum at once.
    /// true: the size changed.
    bool on_black_hole(Instant now);

  private:
    static constexpr int kTries = 3;
    static constexpr std::uint32_t kStep = 16;  // the search ends when fewer bytes are at stake
    static constexpr Duration kRaiseAgain = std::chrono::minutes(10);
    static constexpr Duration kAfterBlackHole = std::chrono::seconds(5);

    [[nodiscard]] std::uint32_t next_size() const;
    void refuse(Instant now, std::uint32_t size);
    void rest_if_searched(Instant now);

    std::uint32_t minimum_;
    std::uint32_t maximum_;
    std::uint32_t current_;
    std::uint32_t ceiling_;  // largest size not known to fail
    int tries_ = 0;
    bool in_flight_ = false;
    std::optional<Instant> resume_;  // not before this
};

}  // namespace udtx::path

// What keeps strangers from using up a relay: limits of rates, and counts for each address.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "udtx/address.hpp"
#include "udtx/rate.hpp"

namespace udtx::apps {

/// The budgets of a relay. Each address stands for its whole /64 if it is IPv6, because one host can use all of it.
struct RelayBudget {
    std::size_t sessions = 1000;           ///< claims that wait, and pairs
    std::size_t sessions_of_address = 50;  ///< of them, claimed by one address
    Rate pair_rate = Rate::infinite();     ///< between two ends, both directions together
    Rate total_rate = Rate::infinite();    ///< of all pairs together
    Duration pair_time = std::chrono::hours(24);
    Duration claim_time = std::chrono::hours(1);     ///< how long a number waits for the other end
    Duration settle_time = std::chrono::minutes(1);  ///< in which a joined end must prove that it knows the words
    std::uint32_t joins = 3;                         ///< ends that may try one number
    std::size_t peer_messages = 64;                  ///< from one end, in a session
    std::size_t guests = 256;                        ///< connections that have neither claimed nor joined
    std::size_t guests_of_address = 16;
    Duration guest_time = std::chrono::seconds(10);
    Duration guest_grace = std::chrono::seconds(1);  ///< from this age on, a guest may have to leave for another one
    std::uint32_t joins_of_address = 20;             ///< in each period of attempts
    std::uint32_t claims_of_address = 60;            ///< the same
    Duration attempt_period = std::chrono::minutes(1);
    std::size_t queue_bytes = 256U << 10U;  ///< for an end that does not read
};

/// Keeps bytes to a rate, of which some more may come at once.
class RateBucket {
  public:
    explicit RateBucket(Rate rate) noexcept;
    /// The bytes have come. Returns how long no others may.
    [[nodiscard]] Duration charge(Instant now, std::size_t bytes) noexcept;

  private:
    Rate rate_;
    double most_;   ///< bytes
    double level_;  ///< negative: too many have come
    std::optional<Instant> last_{};
};

/// An address without its port; of IPv6 the first 64 bits.
class AddressGroup {
  public:
    explicit AddressGroup(const Address& address) noexcept;
    friend auto operator<=>(const AddressGroup&, const AddressGroup&) noexcept = default;

  private:
    Address address_;
};

/// Counts what each address has open. Its caller limits the sum.
class AddressTally {
  public:
    void add(const Address& address) { ++counts_[AddressGroup(address)]; }
    void remove(const Address& address);
    [[nodiscard]] std::size_t count(const Address& address) const;

  private:
    std::map<AddressGroup, std::size_t> counts_;
};

/// Limits how often an address may try something in a period. It remembers a bounded number of addresses. If they are
/// more, the others share one limit.
class AttemptLimit {
  public:
    static constexpr std::size_t kMostAddresses = 4096;

    AttemptLimit(std::uint32_t most, Duration period) noexcept : most_(most), period_(period) {}
    /// Counts an attempt. False: it is one too many.
    [[nodiscard]] bool allow(Instant now, const Address& address);

  private:
    struct Attempts {
        Instant since{};
        std::uint32_t count = 0;
    };
    [[nodiscard]] Attempts& attempts_of(Instant now, const Address& address);

    std::uint32_t most_;
    Duration period_;
    std::map<AddressGroup, Attempts> known_;
    Attempts others_;
};

}  // namespace udtx::apps

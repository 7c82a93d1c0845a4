// Proof that a peer receives at an address: an unpredictable challenge that must come back (RFC 9000, section 8.2).
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/address.hpp"
#include "udtx/time.hpp"

namespace udtx::path {

/// Watches one candidate address at a time: one that the peer shows, or one that we want to use. Until an address that
/// the peer showed is validated, at most three times as many bytes go there as came from it (RFC 9000, section 8.1).
class Validator {
  public:
    /// An authentic packet of `bytes` came from an address other than the path's.
    /// `challenge` is used if this starts a new attempt.
    void on_packet_from(Instant now, const Address& local, const Address& remote, std::uint64_t bytes,
                        std::uint64_t challenge);
    /// We want to use this pair of addresses: asked for until clear(), less and less often.
    void ask(Instant now, const Address& local, const Address& remote, std::uint64_t challenge);
    /// A challenge is to be sent to candidate() now.
    [[nodiscard]] bool challenge_due(Instant now) const;
    /// Bytes that may still go to the candidate.
    [[nodiscard]] std::uint64_t credit() const noexcept {
        if (asking_) return kUnlimited;
        return 3 * received_ > sent_ ? 3 * received_ - sent_ : 0;
    }
    /// `retry_after`: of an address that the peer showed.
    void on_challenge_sent(Instant now, std::uint64_t bytes, Duration retry_after);
    /// Other bytes went there.
    void on_sent(std::uint64_t bytes) noexcept { sent_ += bytes; }
    /// true: the value is the open challenge's; the candidate is valid and the caller moves to it.
    [[nodiscard]] bool on_response(std::uint64_t value) const noexcept { return active_ && value == challenge_; }
    void clear() noexcept { active_ = asking_ = false; }

    [[nodiscard]] bool active() const noexcept { return active_; }
    /// Challenges sent so far.
    [[nodiscard]] int tries() const noexcept { return tries_; }
    [[nodiscard]] std::uint64_t challenge() const noexcept { return challenge_; }
    [[nodiscard]] const Address& local() const noexcept { return local_; }
    [[nodiscard]] const Address& remote() const noexcept { return remote_; }
    [[nodiscard]] std::optional<Instant> deadline() const noexcept;

  private:
    static constexpr int kTries = 5;
    static constexpr Duration kTryAgain = std::chrono::seconds(1);  // a fresh attempt after all tries failed

    static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
    static constexpr Duration kAskAgain = std::chrono::milliseconds(200);  // doubled each time ...
    static constexpr Duration kAskSeldom = std::chrono::seconds(5);        // ... up to this

    bool active_ = false;
    bool asking_ = false;
    Address local_;
    Address remote_;
    std::uint64_t challenge_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t sent_ = 0;
    int tries_ = 0;
    Instant next_;
};

}  // namespace udtx::path

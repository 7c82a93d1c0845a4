// Proves that a peer receives at an address: it must return an unpredictable challenge (RFC 9000, section 8.2).
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/address.hpp"
#include "udtx/rate.hpp"

namespace udtx::path {

/// Validates one candidate address at a time: one from which the peer sends, or one that we want to use. Until an
/// address of the first kind is validated, we send to it at most three times the bytes received from it (RFC 9000,
/// section 8.1).
class Validator {
  public:
    /// An authentic packet of `bytes` came from an address other than the path's. `challenge`: the value to use if this
    /// starts a new attempt.
    void on_packet_from(Instant now, const Address& local, const Address& remote, std::uint64_t bytes,
                        std::uint64_t challenge);
    /// We want to use this pair of addresses. Challenges repeat, less and less often, until clear().
    void ask(Instant now, const Address& local, const Address& remote, std::uint64_t challenge);
    /// True if a challenge must be sent to the candidate now.
    [[nodiscard]] bool challenge_due(Instant now) const;
    /// How many bytes may still be sent to the candidate.
    [[nodiscard]] std::uint64_t credit() const noexcept {
        if (task_ == Task::ask) return kUnlimited;
        return 3 * received_ > sent_ ? 3 * received_ - sent_ : 0;
    }
    /// `retry_after`: the time until the next challenge to an address from which the peer sends.
    void on_challenge_sent(Instant now, std::uint64_t bytes, Duration retry_after);
    /// Other bytes were sent to the candidate.
    void on_sent(std::uint64_t bytes) noexcept { sent_ += bytes; }
    /// True if the value is that of the open challenge: the candidate is valid, and the caller switches to it.
    [[nodiscard]] bool on_response(std::uint64_t value) const noexcept {
        return active() && (value == challenge_ || value == (challenge_ ^ kSmall));
    }
    /// The response is to a small packet.
    [[nodiscard]] bool was_small(std::uint64_t value) const noexcept { return value != challenge_; }
    void clear() noexcept { task_ = Task::none; }

    [[nodiscard]] bool active() const noexcept { return task_ != Task::none; }
    /// Number of challenges sent so far.
    [[nodiscard]] int tries() const noexcept { return tries_; }
    /// The next challenge is a small packet: those of the usual size had no answer, so the path may be a narrow tunnel.
    [[nodiscard]] bool small_next() const noexcept { return tries_ >= kUsualTries && (tries_ - kUsualTries) % 2 == 0; }
    /// The value to send. That of small packets is another one.
    [[nodiscard]] std::uint64_t challenge() const noexcept { return small_next() ? challenge_ ^ kSmall : challenge_; }
    [[nodiscard]] const Address& local() const noexcept { return local_; }
    [[nodiscard]] const Address& remote() const noexcept { return remote_; }
    [[nodiscard]] std::optional<Instant> deadline() const noexcept;

  private:
    static constexpr int kTries = 5;
    static constexpr int kUsualTries = 3;
    static constexpr std::uint64_t kSmall = 1;
    static constexpr Duration kTryAgain = std::chrono::seconds(1);  // wait before a new attempt after all tries failed

    static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
    static constexpr Duration kAskAgain = std::chrono::milliseconds(200);  // interval of ask(), doubled each time ...
    static constexpr Duration kAskSeldom = std::chrono::seconds(5);        // ... up to this interval

    enum class Task : std::uint8_t {
        none,
        verify,  ///< an address from which the peer sends
        ask,     ///< an address that this end wants to use
    };
    void begin(Task task, Instant now, const Address& local, const Address& remote, std::uint64_t challenge);

    Task task_ = Task::none;
    Address local_;
    Address remote_;
    std::uint64_t challenge_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t sent_ = 0;
    int tries_ = 0;
    Instant next_;
};

}  // namespace udtx::path

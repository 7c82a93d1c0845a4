// SPAKE2 (RFC 9382): two ends that know the same few words agree on a strong key. Someone between them who does not
// know the words can try one guess in each exchange, and learns nothing for guesses without an end. The ciphersuite is
// P256-SHA256-HKDF-SHA256-HMAC-SHA256.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/ciphers.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// The scalar w of a password: scrypt, then modulo the order of the group (RFC 9382, section 3.2). `salt`: both ends
/// use the same. Takes about 50 ms on purpose.
[[nodiscard]] Secret32 password_scalar(std::string_view password, std::string_view salt);

/// One end of one exchange. Order of calls: make(), message(), on_message(), confirmation(), on_confirmation(), key().
/// After an error the exchange has failed for good, and there is no key.
class Spake2 {
  public:
    static constexpr std::size_t kMessageBytes = 65;  ///< an uncompressed point (SEC 1, section 2.3.3)
    static constexpr std::size_t kConfirmationBytes = 32;

    /// The party A or B of the RFC.
    enum class Party { a, b };
    struct Setup {
        Party party = Party::a;
        std::string identity_a{};
        std::string identity_b{};
        std::string additional{};  ///< data that both ends must agree on, section 3.1: "AAD"
    };

    /// internal: OpenSSL lacks the curve. `own_secret`: for tests, the random scalar x or y.
    [[nodiscard]] static Result<Spake2> make(Setup setup, const Secret32& password,
                                             const std::optional<Secret32>& own_secret = std::nullopt);
    ~Spake2();
    Spake2(Spake2&&) noexcept;
    Spake2& operator=(Spake2&&) noexcept;

    /// The message for the other end.
    [[nodiscard]] const std::array<std::byte, kMessageBytes>& message() const noexcept { return message_; }
    /// protocol: the message is not a point of the curve, or it is the second one.
    [[nodiscard]] Result<void> on_message(std::span<const std::byte> peer);
    /// The proof for the other end that this end has the key. Only after on_message() has succeeded.
    [[nodiscard]] const Digest& confirmation() const noexcept { return own_confirmation_; }
    /// authentication: the other end does not have the key, because it used other words.
    [[nodiscard]] Result<void> on_confirmation(std::span<const std::byte> peer);
    /// The key of both ends, once on_confirmation() has succeeded. It is made from Ke, which has 128 bits.
    [[nodiscard]] const Secret32& key() const noexcept { return key_; }

    enum class Stage {
        offered,    ///< the own message exists
        agreed,     ///< the peer's message has arrived
        confirmed,  ///< the peer has proved that it has the key
        failed,
    };
    [[nodiscard]] Stage stage() const noexcept { return stage_; }

  private:
    static constexpr Step<Stage> kSteps[] = {{Stage::offered, Stage::agreed},
                                             {Stage::agreed, Stage::confirmed},
                                             {Stage::offered, Stage::failed},
                                             {Stage::agreed, Stage::failed},
                                             {Stage::confirmed, Stage::failed}};
    struct Curve;

    Spake2(Setup setup, std::unique_ptr<Curve> curve);
    /// Ends the exchange.
    [[nodiscard]] Error fail(ErrorCode code, const char* why);
    /// Derives the keys (sections 3.3 and 4).
    void derive(std::span<const std::byte> peer, std::span<const std::byte> shared);

    Setup setup_;
    std::unique_ptr<Curve> curve_;
    std::array<std::byte, kMessageBytes> message_{};
    Digest own_confirmation_{};
    Digest peer_confirmation_{};
    Secret32 agreed_key_;  // until the peer has confirmed it
    Secret32 key_;
    Lifecycle<kSteps> stage_{Stage::offered};
};

}  // namespace udtx::apps

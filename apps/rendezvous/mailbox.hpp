// How two ends meet at a relay with a code: they get a key that the relay does not know, and exchange messages sealed
// with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/ciphers.hpp"
#include "rendezvous/code.hpp"
#include "rendezvous/messages.hpp"
#include "rendezvous/relay_link.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::apps {

/// One end. Order of calls: claim() or join(), meet(), then all others in any order. Use it on one thread. After an
/// error it is of no further use.
class Mailbox {
  public:
    /// Longest message of send() and meet().
    static constexpr std::size_t kMaxBytes = kMaxPeerBytes - 1 - Sealer::kTagBytes;
    /// Ends with wrong words that may try before the code is useless.
    static constexpr std::size_t kMostAttempts = 3;

    /// The end that sends: asks the relay for a number, and chooses the words of code(). The code is valid for the time
    /// of code_seconds().
    [[nodiscard]] static Result<Mailbox> claim(const std::vector<Address>& relay, Rng& random,
                                               const Patience& patience);
    /// The end that receives. network: nobody waits with the number of the code.
    [[nodiscard]] static Result<Mailbox> join(const std::vector<Address>& relay, const Code& code,
                                              const Patience& patience);
    ~Mailbox();
    Mailbox(Mailbox&&) noexcept;
    Mailbox& operator=(Mailbox&&) noexcept;

    struct Meeting {
        Secret32 key;                 ///< the same at both ends, and unknown to the relay
        std::vector<std::byte> peer;  ///< what the other end told first
    };
    /// Waits for the other end and agrees on the key. `own` returns what this end tells the other one first, at most
    /// kMaxBytes, and is called when there is a key. authentication: the code is wrong; at the end that sends, three
    /// others have tried wrong codes.
    [[nodiscard]] Result<Meeting> meet(const std::function<std::vector<std::byte>()>& own, const Patience& patience);
    /// Called when an end with a wrong code was sent away, with the number of attempts that are left.
    std::function<void(std::size_t left)> on_wrong_code;

    [[nodiscard]] const Code& code() const noexcept { return code_; }
    [[nodiscard]] std::uint32_t code_seconds() const noexcept { return code_seconds_; }
    /// For Binding.
    [[nodiscard]] const Token& token() const noexcept { return token_; }
    /// What arrives after meet(): a message of the other end, or its next bytes.
    struct Sealed {
        std::vector<std::byte> message;
    };
    using Arrival = std::variant<Sealed, Data>;

    /// A message of at most kMaxBytes, of which each end may send about 60.
    [[nodiscard]] Result<void> send(std::span<const std::byte> message, const Patience& patience);
    /// integrity: the relay has changed, repeated, left out or reordered messages.
    [[nodiscard]] Result<Arrival> receive(const Patience& patience);
    /// nullopt: nothing has arrived. Then poll link().fd() before the next call.
    [[nodiscard]] Result<std::optional<Arrival>> poll_arrival();
    /// Sends at most kMaxDataBytes of the stream to the other end, and queues what the socket does not take. Wait until
    /// link().wants_write() is false before the next call.
    [[nodiscard]] Result<void> send_data(std::span<const std::byte> bytes);
    /// Ends the session at the relay, as far as the socket takes the message at once.
    void close();
    /// For fd(), wants_write() and flush().
    [[nodiscard]] RelayLink& link() noexcept { return link_; }

    enum class Stage {
        waits,   ///< claimed: no other end has joined
        joined,  ///< an end has joined
        met,     ///< both have the key
        ended,
    };
    [[nodiscard]] Stage stage() const noexcept { return stage_; }

  private:
    static constexpr Step<Stage> kSteps[] = {{Stage::waits, Stage::joined}, {Stage::joined, Stage::waits},
                                             {Stage::joined, Stage::met},   {Stage::waits, Stage::ended},
                                             {Stage::joined, Stage::ended}, {Stage::met, Stage::ended}};
    enum class Kind : std::uint8_t { share = 1, confirmation = 2, sealed = 3 };
    struct Seals;

    Mailbox(RelayLink link, const Code& code, bool claims);
    /// The key of one exchange. `by_peer` becomes true if the other end has caused the error.
    [[nodiscard]] Result<Secret32> agree(const Patience& patience, bool& by_peer);
    [[nodiscard]] Result<void> wait_for_join(const Patience& patience);
    [[nodiscard]] Result<std::vector<std::byte>> receive_kind(Kind kind, const Patience& patience, bool& by_peer);
    [[nodiscard]] Result<Meeting> exchange(const Secret32& key, const std::vector<std::byte>& own,
                                           const Patience& patience);
    [[nodiscard]] Message peer_message(Kind kind, std::span<const std::byte> body) const;
    /// The error of CLOSE and of messages out of order.
    [[nodiscard]] Result<std::optional<Arrival>> take(Message message);
    [[nodiscard]] Error refused(const Close& close) const;
    [[nodiscard]] Error fail(Error error);

    RelayLink link_;
    Code code_;
    bool claims_;
    std::uint32_t code_seconds_ = 0;
    Token token_{};
    std::uint8_t join_ = 0;
    Secret32 password_;
    std::unique_ptr<Seals> seals_;
    Lifecycle<kSteps> stage_{Stage::waits};
};

}  // namespace udtx::apps

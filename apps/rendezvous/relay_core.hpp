// The relay without its sockets: which end waits with which number, and which two ends are a pair. Messages, datagrams
// and the time go in; what to send comes out through RelayOutput.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "rendezvous/messages.hpp"
#include "rendezvous/relay_limits.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::apps {

/// Identifies a TLS connection. No two connections of a relay have the same.
using RelayConnectionId = std::uint64_t;

/// What the relay does at its sockets. The functions must not call the core.
class RelayOutput {
  public:
    virtual ~RelayOutput() = default;
    /// The connection may end later because the message found no room.
    virtual void send(RelayConnectionId to, const Message& message) = 0;
    /// Sends data of `from`, from which nothing more is read for `pause`, and while `to` has no room.
    virtual void pass(RelayConnectionId from, RelayConnectionId to, const Data& data, Duration pause) = 0;
    /// Closes the connection after what was sent. The core does not hear of it again.
    virtual void disconnect(RelayConnectionId id) = 0;
    virtual void send_datagram(const Address& to, std::span<const std::byte> datagram) = 0;
    /// One line for the log.
    virtual void report(const std::string& line) = 0;
};

struct RelayCounters {
    std::uint64_t claims = 0;   ///< numbers that were given out
    std::uint64_t pairs = 0;    ///< ends that proved to each other that they know the words
    std::uint64_t refused = 0;  ///< connections, claims and joins
    std::uint64_t wrong_codes = 0;
    std::uint64_t passed_bytes = 0;  ///< from one end to the other
};

/// Use it on one thread. `now` must not go back.
class RelayCore {
  public:
    /// Random source and output must outlive the core.
    RelayCore(const RelayBudget& budget, Rng& random, RelayOutput& output);
    ~RelayCore();
    RelayCore(const RelayCore&) = delete;
    RelayCore& operator=(const RelayCore&) = delete;

    /// A guest has connected. False: there is no room, and the core does not know the connection.
    [[nodiscard]] bool on_connect(Instant now, RelayConnectionId id, const Address& from);
    void on_message(Instant now, RelayConnectionId id, const Message& message);
    /// The bytes of the connection are not messages.
    void on_violation(Instant now, RelayConnectionId id, const std::string& why);
    /// The connection has ended, not by disconnect().
    void on_disconnect(Instant now, RelayConnectionId id);
    void on_datagram(const Address& from, std::span<const std::byte> datagram);
    /// Ends what has lasted for too long. Call it about once a second.
    void on_tick(Instant now);
    /// Tells all ends that the relay stops.
    void stop(Instant now);

    [[nodiscard]] const RelayCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] std::size_t sessions() const noexcept { return sessions_.size(); }

  private:
    struct End;
    struct Session;
    struct TokenHash {
        std::size_t operator()(const Token& token) const noexcept;
    };

    [[nodiscard]] End* find(RelayConnectionId id);
    [[nodiscard]] End* other_of(const End& end);
    [[nodiscard]] Session& session_of(const End& end);

    void handle(Instant now, End& end, const Claim& message);
    void handle(Instant now, End& end, const Join& message);
    void handle(Instant now, End& end, const Dismiss& message);
    void handle(Instant now, End& end, const Settled& message);
    void handle(Instant now, End& end, const Peer& message);
    void handle(Instant now, End& end, const Data& message);
    void handle(Instant now, End& end, const Close& message);
    /// All messages that only a relay sends.
    template <class Other>
    void handle(Instant now, End& end, const Other& message);

    /// False: the end is too old, and was refused.
    [[nodiscard]] bool agree_on_version(Instant now, End& end, std::uint8_t newest);
    [[nodiscard]] std::uint32_t free_number();
    void give_token(End& end);
    /// Sends CLOSE to the end and forgets it.
    void close(End& end, CloseReasonCode code, const char* reason);
    /// Forgets the end.
    void forget(End& end);
    /// The end has left or was closed: what this means for its session.
    void leave(Instant now, End& end, const char* why);
    void end_session(Instant now, Session& session, CloseReasonCode code, const char* reason);
    void end_join(Instant now, Session& session, const char* why);
    [[nodiscard]] bool make_room(Instant now, const Address& from);
    void refuse(Instant now, End& end, CloseReasonCode code, const char* reason);
    void count_refusal(Instant now, const std::string& line);

    RelayBudget budget_;
    Rng& random_;
    RelayOutput& output_;
    RateBucket total_rate_;
    AttemptLimit joins_;
    AttemptLimit claims_;
    AddressTally guests_of_;
    AddressTally sessions_of_;
    std::size_t guests_ = 0;
    std::unordered_map<RelayConnectionId, std::unique_ptr<End>> ends_;
    std::unordered_map<std::uint32_t, std::unique_ptr<Session>> sessions_;  ///< by number
    std::unordered_set<Token, TokenHash> tokens_;                           ///< of all ends
    RelayCounters counters_;
    std::optional<Instant> last_refusal_;  ///< that was reported
    std::uint64_t refusals_left_out_ = 0;
};

}  // namespace udtx::apps

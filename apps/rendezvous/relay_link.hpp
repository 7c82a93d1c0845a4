// An end's TLS connection to the relay, with calls that wait for a bounded time or not at all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/handles.hpp"
#include "rendezvous/messages.hpp"
#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// How long a call may wait.
struct Patience {
    Instant deadline{};
    int stop = -1;  ///< a descriptor that ends the call with `interrupted` when it becomes readable; -1: none

    /// True if `stop` is readable.
    [[nodiscard]] bool interrupted() const;
};

/// Use it on one thread. After an error it is of no further use. SIGPIPE must be ignored (SignalWaiter does so).
class RelayLink {
  public:
    /// Tries the addresses in their order. network: none of them is a relay; timeout, interrupted: see Patience.
    [[nodiscard]] static Result<RelayLink> connect(const std::vector<Address>& relay, const Patience& patience);

    /// Returns when everything is sent.
    [[nodiscard]] Result<void> send(const Message& message, const Patience& patience);
    /// Waits for a message. network: the relay has closed the connection.
    [[nodiscard]] Result<Message> receive(const Patience& patience);

    /// Sends now what the socket takes, and queues the rest.
    [[nodiscard]] Result<void> offer(const Message& message);
    /// Sends more of what is queued.
    [[nodiscard]] Result<void> flush();
    /// nullopt: no whole message has arrived. Then poll fd() before the next call.
    [[nodiscard]] Result<std::optional<Message>> poll_message();
    [[nodiscard]] int fd() const noexcept { return socket_.get(); }
    /// True if flush() must be called when fd() becomes writable.
    [[nodiscard]] bool wants_write() const noexcept { return !queue_.empty(); }
    /// The address of the relay.
    [[nodiscard]] const Address& relay() const noexcept { return relay_; }

  private:
    RelayLink(const Address& relay, UniqueFd socket) : relay_(relay), socket_(std::move(socket)) {}
    [[nodiscard]] static Result<RelayLink> connect_to(const Address& relay, const Patience& patience);
    [[nodiscard]] Result<void> greet(const Patience& patience);
    /// Waits until the socket is ready for one of the poll(2) `events`.
    [[nodiscard]] Result<void> wait(short events, const Patience& patience) const;
    [[nodiscard]] Error lost(const std::string& why) const;
    /// For the result of a TLS call that has failed: the events to wait for; an error if the connection is lost.
    [[nodiscard]] Result<short> events_for(int result) const;

    Address relay_;
    UniqueFd socket_;
    TlsContextPtr context_;
    TlsPtr tls_;
    MessageReader reader_;
    std::vector<std::byte> incoming_ = std::vector<std::byte>(16384);
    std::vector<std::byte> queue_;
};

}  // namespace udtx::apps

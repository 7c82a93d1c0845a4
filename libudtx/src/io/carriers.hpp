// The byte streams over which a driver sends and receives datagrams besides its UDP socket, and the TCP port on which
// it accepts such streams.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/stream_carrier.hpp"
#include "openssl/tls_stream.hpp"
#include "udtx/address.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::io {

/// "the connection over TCP has ended: WHY"
[[nodiscard]] std::string describe_end(const Address& remote, const std::string& why);

/// Belongs to one driver. Its thread makes all calls.
class Carriers {
  public:
    /// Accepted streams that carry no connection yet, or no longer: in total, of one host, and for how long. As those
    /// of proto::Endpoint, they bound what strangers can hold.
    static constexpr std::size_t kMaxHalfOpen = 256;
    static constexpr std::size_t kMaxHalfOpenPerHost = proto::Endpoint::kMaxHalfOpenPerHost;
    static constexpr Duration kHalfOpenTime = std::chrono::seconds(10);
    /// A stream of this age may be closed for a new one, so that strangers do not lock out a client.
    static constexpr Duration kHalfOpenGrace = proto::Endpoint::kHalfOpenGrace;

    /// The driver has share number `share` of `shares` (Driver::Options).
    Carriers(proto::Endpoint& endpoint, std::size_t share, std::size_t shares)
        : endpoint_(endpoint), share_(share), shares_(shares) {}

    /// Takes a stream that was accepted here but carries a connection of another share.
    using PassOn = std::function<void(std::size_t share, std::shared_ptr<StreamCarrier> carrier, Instant accepted)>;
    void on_elsewhere(PassOn pass_on) { pass_on_ = std::move(pass_on); }
    /// Gets each stream that has ended, after the connections on it were told.
    using Gone = std::function<void(const StreamCarrier& carrier)>;
    void on_gone(Gone gone) { gone_ = std::move(gone); }

    /// The owner may pass the same stream to another driver later.
    void add(std::shared_ptr<StreamCarrier> carrier, std::optional<Instant> accepted = {});
    /// Takes a stream from the share that accepted it, or closes it if there is no room.
    void take(Instant now, std::shared_ptr<StreamCarrier> carrier, Instant accepted);
    /// Accepts streams from `listening`, a TCP socket.
    void listen(UniqueFd listening, std::shared_ptr<openssl::TlsStreams> tls);
    [[nodiscard]] bool empty() const noexcept { return entries_.empty() && ports_.empty(); }

    /// Sends a batch whose remote address names a stream. If the stream is gone, the connection learns it.
    void send(Instant now, const proto::Transmit& transmit, std::span<const std::byte> batch);

    /// What to wait for, until the next call. turn() handles those that are ready.
    [[nodiscard]] std::span<os::Watch> watches();
    /// Receives and sends what is ready. True: there may be more.
    bool turn(Instant now);
    /// When turn() has something to do even if nothing is ready.
    [[nodiscard]] std::optional<Instant> deadline() const;

  private:
    struct Entry {
        std::shared_ptr<StreamCarrier> carrier;
        std::vector<ConnectionId> users{};
        std::optional<Instant> since{};  ///< since when no connection uses it; nullopt: one does, or this end opened it
        bool accepted = false;
        bool full = false;        ///< as told to the connections
        bool ready = true;        ///< a read or a write may succeed
        std::size_t share = 0;    ///< whose connection it carries
        std::size_t watches = 0;  ///< how many of watches_ are its own
    };
    struct Port {
        UniqueFd socket;
        std::shared_ptr<openssl::TlsStreams> tls;
    };

    void note_ready();
    void accept_all(Instant now, Port& port);
    [[nodiscard]] bool make_room(Instant now, const Address& remote);
    void note_user(Entry& entry, ConnectionId connection);
    [[nodiscard]] Entry* find(const Address& local, const Address& remote);
    bool receive(Instant now, Entry& entry);
    void tell_room(Entry& entry);
    void end_half_open(Instant now);
    void pass_on_strange();
    void remove_ended(Instant now);

    proto::Endpoint& endpoint_;
    const std::size_t share_;
    const std::size_t shares_;
    PassOn pass_on_;
    Gone gone_;
    std::vector<std::unique_ptr<Entry>> entries_;
    std::vector<Port> ports_;
    std::vector<os::Watch> watches_;
    std::optional<Instant> accept_again_;  // the system lacks a descriptor
};

}  // namespace udtx::io

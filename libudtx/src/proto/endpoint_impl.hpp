// The parts of an endpoint: its connections by id, and which of them to poll next.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crypto/hello_proof.hpp"
#include "crypto/retry_cookie.hpp"
#include "proto/connection_impl.hpp"
#include "proto/reset_replies.hpp"
#include "udtx/config.hpp"
#include "udtx/core/endpoint.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

class UDTX_LOCAL Endpoint::Impl {
  public:
    Impl(EndpointDeps deps, TransportConfig config);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void set_keys(crypto::HandshakeFactory& handshakes, const std::optional<crypto::Secret>& hello_key,
                  const std::optional<crypto::Secret>& reset_key);
    void listen(std::size_t max_connections) { max_connections_ = max_connections; }
    [[nodiscard]] std::shared_ptr<Connection> connect(Instant now, std::vector<PathAddresses> ways);
    [[nodiscard]] std::shared_ptr<Connection> accept();
    void handle_datagram(Instant now, const RxDatagram& datagram);
    [[nodiscard]] std::optional<Opening> opening_of(std::span<const std::byte> datagram) const;
    void handle_timeout(Instant now);
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    void on_datagram_too_large(Instant now, const Transmit& refused);
    void on_no_way(Instant now, const Transmit& refused, std::string why, bool may_pass);
    [[nodiscard]] std::shared_ptr<Connection> poll_touched();
    [[nodiscard]] std::size_t connection_count() const noexcept { return connections_.size(); }
    [[nodiscard]] std::size_t half_open_count() const noexcept { return half_open_.size(); }

  private:
    struct Entry {
        std::shared_ptr<Connection> connection{};
        std::optional<Instant> deadline{};  // as stored in timers_
        bool told = false;                  // is in events_
        bool queued = false;                // is in ready_
        bool outdated = false;              // its handshake uses a pre-shared key that was replaced
    };
    struct Reply {
        Address local;
        Address remote;
        std::vector<std::byte> bytes;
    };

    std::shared_ptr<Connection> add(Instant now, Connection::Impl::Setup setup);
    void on_touched(ConnectionId id, Entry& entry);
    void file_deadline(ConnectionId id, Entry& entry);
    void remove(ConnectionId id);
    [[nodiscard]] const Entry* find(ConnectionId id);
    void after_datagram(Instant now, const std::shared_ptr<Connection>& connection, bool was_connected);
    [[nodiscard]] bool make_room(Instant now, const Address& remote);
    void on_hello(Instant now, const RxDatagram& datagram);
    void reply_retry(Instant now, const RxDatagram& datagram, const wire::LongHeader& header);
    void reply_versions(const RxDatagram& datagram, const wire::LongHeader& header);
    void on_stray(Instant now, const RxDatagram& datagram, const wire::ShortHeader& header);
    [[nodiscard]] ConnectionId fresh_id();

    static constexpr std::size_t kMaxReplies = 64;
    static constexpr std::size_t kMaxResets = 16;  // of kMaxReplies: replies to handshakes have priority

    EndpointDeps deps_;
    TransportConfig config_;
    crypto::CookieJar cookies_;
    std::optional<crypto::HelloProofs> proofs_;
    std::optional<ResetReplies> resets_;
    std::size_t max_connections_ = 0;
    std::unordered_map<ConnectionId, Entry> connections_;           // by local id
    const std::pair<const ConnectionId, Entry>* newest_ = nullptr;  // entry of connections_ that got the last datagram
    std::unordered_map<ConnectionId, ConnectionId> by_original_;    // server: client's first destination id -> local id
    std::vector<ConnectionId> dialled_;                             // connections that this end opened
    std::deque<ConnectionId> half_open_;                            // oldest first
    std::deque<ConnectionId> ready_;                                // to poll for datagrams, round robin
    std::deque<ConnectionId> events_;                               // to poll for events
    std::set<std::pair<Instant, ConnectionId>> timers_;
    std::deque<std::shared_ptr<Connection>> accepted_;
    std::deque<Reply> replies_;  // stateless answers, bounded
    std::shared_ptr<WindowMemory> window_memory_ =
        deps_.window_memory ? deps_.window_memory : std::make_shared<WindowMemory>(config_.max_memory);
};

}  // namespace udtx::proto

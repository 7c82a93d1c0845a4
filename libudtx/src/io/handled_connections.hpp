// The connections of an endpoint and their handlers. Events go to the handler. If ICMP says that a peer which has not
// answered is unreachable, the handler gets a Closed event, or on_refused() if a byte stream is still to come.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/udp_socket.hpp"
#include "proto/application.hpp"
#include "udtx/core/endpoint.hpp"

namespace udtx::io {

/// Only the protocol thread uses this.
class HandledConnections {
  public:
    /// Chooses the handler of a connection that a peer opened; nullptr closes the connection.
    using AcceptCallback = std::function<std::shared_ptr<proto::ConnectionHandler>(proto::Connection&)>;
    /// Reports handshakes that a peer started and that failed at this end. No handler hears of those.
    using RefusedCallback = std::function<void(const Address& remote, const proto::CloseReason& why)>;
    /// A thread sets it to request on_wake() of a connection's handler; any thread. The Waker shares it.
    using WokenFlag = std::shared_ptr<std::atomic<bool>>;

    /// How long a connection attempt continues after its datagrams came back as "port unreachable". A listener that is
    /// just starting has enough time, and one forged ICMP message has little effect.
    static constexpr Duration kRefusedGrace = std::chrono::milliseconds(1500);

    /// `endpoint` must outlive it.
    explicit HandledConnections(proto::Endpoint& endpoint) : endpoint_(endpoint) {}
    ~HandledConnections();
    HandledConnections(const HandledConnections&) = delete;
    HandledConnections& operator=(const HandledConnections&) = delete;

    void on_accept(AcceptCallback accept) { accept_ = std::move(accept); }
    void on_refused(RefusedCallback refused) { refused_ = std::move(refused); }

    struct Entry {
        std::shared_ptr<proto::Connection> connection;
        std::shared_ptr<proto::ConnectionHandler> handler;
        WokenFlag woken = std::make_shared<std::atomic<bool>>(false);
        std::vector<Refusal> refusing{};   // ICMP messages from before the end of the handshake
        std::optional<Instant> refused{};  // since when all its addresses are refused
        bool connected = false;
        bool told = false;  // on_refused()
    };
    using EntryPtr = std::shared_ptr<Entry>;
    EntryPtr add(std::shared_ptr<proto::Connection> connection, std::shared_ptr<proto::ConnectionHandler> handler);
    /// Delivers new connections and all events. True if any connection had something.
    bool deliver();

    /// Null if the connection has no handler.
    [[nodiscard]] WokenFlag woken_flag(const proto::Connection& connection) const;
    /// False if no handler has that flag.
    bool wake(const proto::Connection* connection, std::atomic<bool>& woken);
    /// Wakes every handler whose flag is set.
    void wake_missed();

    void note_refusals(Instant now, const std::vector<Refusal>& refusals);
    /// The system cannot send to this address. Connections that wait for a byte stream are told so; `may_pass`: only
    /// if nothing arrives within kRefusedGrace. The others end by themselves.
    void note_no_route(Instant now, const Refusal& refusal, bool may_pass);
    void end_refused(Instant now);
    /// Ends all connections for this reason.
    void end_all(Instant now, const Error& why);
    /// True if end_refused() may have to end attempts.
    [[nodiscard]] bool any_refused() const noexcept { return refused_entries_ > 0; }

  private:
    [[nodiscard]] EntryPtr find(const proto::Connection* connection) const;
    static void keep_paths(proto::Connection& connection, const proto::Event& event);
    void deliver(const EntryPtr& entry);
    /// Tells the handler that all addresses are refused.
    static void tell(Instant now, Entry& entry, const Error& why);
    /// Closes the connection, and reports its end to the handler.
    void end(Instant now, const EntryPtr& entry, const Error& why);
    void take_new_connections();
    void give_up(proto::Connection& connection, const std::exception& failed);
    void tell_refused(proto::Connection& connection);

    proto::Endpoint& endpoint_;
    AcceptCallback accept_;
    RefusedCallback refused_;
    std::unordered_map<const proto::Connection*, EntryPtr> entries_;
    std::size_t refused_entries_ = 0;
};

}  // namespace udtx::io

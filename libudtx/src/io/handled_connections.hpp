// Connections of an endpoint and who handles each: events go to the handler, and so does it when ICMP says of a peer
// that has not answered that nobody is there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/driver.hpp"
#include "io/udp_socket.hpp"
#include "proto/application.hpp"
#include "udtx/core/endpoint.hpp"

namespace udtx::io {

/// Protocol thread.
class HandledConnections {
  public:
    /// Set by whoever wants a connection's handler to have its on_wake(), any thread; shared with the Waker.
    using WokenFlag = std::shared_ptr<std::atomic<bool>>;

    /// A connection attempt whose datagrams come back as "port unreachable" ends after so long: long enough for a
    /// listener that is just being started, and too long for one forged ICMP message to matter much.
    static constexpr Duration kRefusedGrace = std::chrono::milliseconds(1500);

    /// `endpoint` outlives it.
    explicit HandledConnections(proto::Endpoint& endpoint) : endpoint_(endpoint) {}
    ~HandledConnections();
    HandledConnections(const HandledConnections&) = delete;
    HandledConnections& operator=(const HandledConnections&) = delete;

    void on_accept(Driver::AcceptCallback accept) { accept_ = std::move(accept); }
    void on_refused(Driver::RefusedCallback refused) { refused_ = std::move(refused); }

    void add(std::shared_ptr<proto::Connection> connection, std::shared_ptr<proto::ConnectionHandler> handler) {
        adopt(std::move(connection), std::move(handler));
    }
    /// Of new connections and all events. True: anything was touched.
    bool deliver();

    /// Null: nobody handles the connection.
    [[nodiscard]] WokenFlag woken_flag(const proto::Connection& connection) const;
    /// False: no handler has that flag.
    bool wake(const proto::Connection* connection, std::atomic<bool>& woken);
    /// All whose flags are set.
    void wake_missed();

    void note_refusals(Instant now, const std::vector<Refusal>& refusals);
    void end_refused(Instant now);
    /// There are attempts that end_refused() is to end.
    [[nodiscard]] bool any_refused() const noexcept { return refused_entries_ > 0; }

  private:
    struct Entry {
        std::shared_ptr<proto::Connection> connection;
        std::shared_ptr<proto::ConnectionHandler> handler;
        WokenFlag woken;
        std::vector<Refusal> refusing;   // ICMP said so before the handshake had finished
        std::optional<Instant> refused;  // since when wherever it could be dialled
        bool connected = false;
    };
    using EntryPtr = std::shared_ptr<Entry>;

    EntryPtr adopt(std::shared_ptr<proto::Connection> connection, std::shared_ptr<proto::ConnectionHandler> handler);
    [[nodiscard]] EntryPtr find(const proto::Connection* connection) const;
    void deliver(const EntryPtr& entry);
    void take_new_connections();
    void give_up(proto::Connection& connection, const std::exception& failed);
    void tell_refused(proto::Connection& connection);

    proto::Endpoint& endpoint_;
    Driver::AcceptCallback accept_;
    Driver::RefusedCallback refused_;
    std::unordered_map<const proto::Connection*, EntryPtr> entries_;
    std::size_t refused_entries_ = 0;
};

}  // namespace udtx::io

// An Endpoint with its applications, which makes the same turns as io::Driver makes over a socket. A derived class
// keeps the virtual time and carries the datagrams: SimHost in the simulator, an ns-3 Application in bench/papers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/application.hpp"
#include "proto/experiment.hpp"
#include "sim/prng.hpp"
#include "udtx/config.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/stats.hpp"

namespace udtx::sim {

/// Application of one connection. The host calls on_tick after each delivery of events and before it sends.
class App : public proto::ConnectionHandler {
  public:
    void on_event(Instant /*now*/, proto::Connection& /*connection*/, const proto::Event& /*event*/) override {}
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}
    virtual void on_tick(Instant /*now*/, proto::Connection& /*connection*/) {}

    /// Requests a call of on_wake() at that time.
    std::function<void(Instant)> wake_at;
};

struct HostCounters {
    std::uint64_t datagrams_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t batches_sent = 0;  ///< the system calls that a driver would make
    std::uint64_t datagrams_received = 0;
    std::uint64_t bytes_received = 0;
    friend bool operator==(const HostCounters&, const HostCounters&) = default;
};

struct Session {
    std::shared_ptr<proto::Connection> connection;  ///< null once closed
    std::shared_ptr<App> app;
    std::optional<Instant> connected_at;
    std::optional<Instant> closed_at;
    std::optional<proto::CloseReason> closed;
    std::vector<proto::event::PathChanged> path_changes;
    std::vector<proto::event::PeerMoved> moves;
    ConnectionStats final_stats;
    [[nodiscard]] ConnectionStats stats() const { return connection ? connection->stats() : final_stats; }
};

struct HostSetup {
    std::string name;
    Address address;
    TransportConfig config{};
    std::uint64_t seed = 1;
    crypto::Provider* provider = nullptr;
    crypto::HandshakeFactory* handshakes = nullptr;
    std::optional<crypto::Secret> hello_key{};
    std::optional<crypto::Secret> reset_key{};
    std::size_t max_segments = 44;   ///< per poll_transmit
    std::size_t packet_threads = 0;  ///< not 0: packets are sealed and opened outside the endpoint
    proto::Experiment experiment{};
};

class ProtocolHost {
  public:
    explicit ProtocolHost(HostSetup setup);
    virtual ~ProtocolHost();
    ProtocolHost(const ProtocolHost&) = delete;
    ProtocolHost& operator=(const ProtocolHost&) = delete;

    using Accept = std::function<std::shared_ptr<App>(proto::Connection&)>;
    void listen(std::size_t max_connections, Accept accept);
    Session& connect(const Address& remote, std::shared_ptr<App> app);
    Session& connect(std::vector<proto::PathAddresses> candidates, std::shared_ptr<App> app);
    /// Ends the process and its sessions without a message to the peers, as by SIGKILL. Datagrams to it are lost.
    void kill();
    /// Starts another process at the same address with the same keys. It listens once it is told to.
    void start_anew();
    /// Makes one turn of the driver. Call it after an application call from outside.
    void pump();

    [[nodiscard]] const Address& address() const noexcept { return setup_.address; }
    [[nodiscard]] proto::Endpoint& endpoint() noexcept { return *endpoint_; }
    [[nodiscard]] bool killed() const noexcept { return !endpoint_; }
    [[nodiscard]] const std::vector<std::unique_ptr<Session>>& sessions() const noexcept { return sessions_; }
    [[nodiscard]] Session& session(std::size_t i = 0) { return *sessions_.at(i); }
    [[nodiscard]] const HostCounters& counters() const noexcept { return counters_; }

  protected:
    /// Takes an arrived datagram, with the kernel's `stamp` or else the time now. It may overwrite `data`.
    void receive(const Address& local, const Address& remote, std::span<std::byte> data,
                 std::optional<Instant> stamp = std::nullopt, proto::Ecn ecn = proto::Ecn::not_ect);
    /// Runs when an alarm that set_alarm() requested is due.
    void on_alarm(std::uint64_t tag);

  private:
    [[nodiscard]] virtual Instant now() const = 0;
    /// A `from` without a family means the address that the host has, or its first address.
    virtual void send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn ecn) = 0;
    /// Calls on_alarm(tag) at that time. An alarm cannot be cancelled.
    virtual void set_alarm(Instant at, std::uint64_t tag) = 0;
    virtual void call_at(Instant at, std::function<void()> action) = 0;

    void start();
    Session& adopt(std::shared_ptr<proto::Connection> connection, std::shared_ptr<App> app);
    bool deliver(Instant now);
    void deliver(Instant now, Session& session);
    bool transmit(Instant now);
    void open_ahead(proto::RxDatagram& datagram) const;
    void set_timer(Instant now);

    HostSetup setup_;
    SimRng rng_;
    std::optional<proto::Endpoint> endpoint_;  // empty after kill()
    Accept accept_;
    std::vector<std::unique_ptr<Session>> sessions_;
    HostCounters counters_;
    std::vector<std::byte> buffer_;
    std::optional<Instant> timer_;
    Instant last_fired_{};
    unsigned fired_at_once_ = 0;
    bool pumping_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace udtx::sim

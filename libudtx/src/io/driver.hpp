// Runs an Endpoint over a real socket: one thread, one loop, one timer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "io/carriers.hpp"
#include "io/event_loop.hpp"
#include "io/handled_connections.hpp"
#include "io/packet_threads.hpp"
#include "io/socket_setup.hpp"
#include "io/udp_socket.hpp"
#include "proto/application.hpp"
#include "udtx/config.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// Order of calls: open(), then connect() and listen() as needed, then run() on the future protocol thread. Other
/// threads may call only post(), stop(), stop_when_drained(), take(), heard() and Wakers, before, during and after
/// run(). All other calls and all handlers run on the protocol thread, or before run().
class Driver final : private PacketThreadsOwner {
  public:
    struct Options {
        SocketOptions socket;
        /// Number of threads that handle packets, including the protocol thread (io/packet_threads.hpp); 1 to
        /// kMaxThreads.
        std::size_t threads = 1;
        /// The share of this driver and the number of shares, if several drivers listen on one port. Each share owns a
        /// part of the connection ids (io/listening.hpp).
        std::size_t share = 0;
        std::size_t shares = 1;
        std::shared_ptr<proto::WindowMemory> window_memory{};  ///< common to all shares
    };
    /// Takes a datagram that arrived here but belongs to another share.
    using PassOn = std::function<void(std::size_t share, const proto::RxDatagram& datagram)>;
    /// Passes ICMP messages that arrived here to all other shares: the kernel cannot assign them to a connection.
    using PassRefusals = std::function<void(const std::vector<Refusal>& refusals)>;

    Driver(proto::EndpointDeps deps, TransportConfig config, Options options);
    Driver(proto::EndpointDeps deps, TransportConfig config) : Driver(std::move(deps), std::move(config), Options()) {}
    ~Driver() override;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    /// Call it before connect().
    Result<void> open(const Address& bind);
    /// The same with a socket that the caller has bound.
    Result<void> open(UniqueFd socket);
    [[nodiscard]] Result<Address> local_address() const;
    /// See DatagramSocket::native_handle().
    [[nodiscard]] int native_handle() const noexcept { return socket_->native_handle(); }
    /// Call it before run(). Without it the driver drops datagrams of other shares.
    void on_elsewhere(PassOn pass_on, PassRefusals pass_refusals) {
        pass_on_ = std::move(pass_on);
        pass_refusals_ = std::move(pass_refusals);
    }
    /// Takes a datagram that another share received; any thread. Drops it if too many are queued.
    void take(const proto::RxDatagram& datagram);
    /// Takes ICMP messages that another share received; any thread.
    void take(const std::vector<Refusal>& refusals);
    /// True once any datagram has arrived; any thread.
    [[nodiscard]] bool heard() const noexcept { return heard_.load(std::memory_order_relaxed); }
    /// See DatagramSocket::buffer_advice().
    [[nodiscard]] std::string buffer_advice() const { return socket_ ? socket_->buffer_advice() : std::string(); }

    /// The driver keeps the handler until after its Closed event. The handler receives its unordered pieces itself
    /// (PieceSink).
    std::shared_ptr<proto::Connection> connect(const Address& remote,
                                               std::shared_ptr<proto::ConnectionHandler> handler) {
        return connect(std::vector{proto::PathAddresses{.local = {}, .remote = remote, .options = {}}},
                       std::move(handler));
    }
    /// See Endpoint::connect().
    std::shared_ptr<proto::Connection> connect(std::vector<proto::PathAddresses> candidates,
                                               std::shared_ptr<proto::ConnectionHandler> handler);
    /// `accept` may call waker_for().
    void listen(std::size_t max_connections, HandledConnections::AcceptCallback accept);
    /// See Endpoint::set_keys(); takes the keys of `deps`.
    void set_keys(const proto::EndpointDeps& deps) {
        endpoint_.set_keys(*deps.handshakes, deps.hello_key, deps.reset_key);
    }
    /// Tells clients on which TCP ports this end listens, too.
    void announce_tcp(std::vector<std::uint16_t> ports) { endpoint_.announce_tcp(std::move(ports)); }
    /// Byte streams that carry datagrams; on the protocol thread, or before run().
    [[nodiscard]] Carriers& carriers() noexcept { return carriers_; }
    void on_refused(HandledConnections::RefusedCallback refused) { connections_.on_refused(std::move(refused)); }
    void on_trouble(ReceiveTrouble::Callback trouble) { trouble_.on_trouble(std::move(trouble)); }

    /// Runs until stop(). It may be called again afterwards.
    void run();
    /// Sends everything that may leave now, then makes run() return. After a stop() before run(), run() returns at
    /// once.
    void stop();
    /// Stops once every connection has drained: the close has reached the peer or was repeated long enough. Stops after
    /// `at_most` in any case.
    void stop_when_drained(Duration at_most);

    /// The Waker triggers on_wake() of this connection's handler. Any thread may call it, also after the end of the
    /// connection or of the driver. Call waker_for() on the protocol thread. If the connection has no handler, the
    /// Waker does nothing.
    [[nodiscard]] proto::Waker waker_for(const proto::Connection& connection);
    /// Runs `fn` on the protocol thread. If the driver is destroyed first, `fn` is dropped.
    void post(std::function<void()> fn);

  private:
    enum class Life : std::uint8_t {
        running,   ///< run() runs, or may be called
        draining,  ///< ends once every connection has drained
        finished,  ///< run() returns
    };
    static constexpr Step<Life> kLife[] = {{Life::running, Life::draining},
                                           {Life::running, Life::finished},
                                           {Life::draining, Life::finished},
                                           {Life::finished, Life::running}};
    enum class Receiving : std::uint8_t {
        paused,    ///< no socket, or the system refuses to receive (ReceiveTrouble)
        waiting,   ///< until the socket is readable
        readable,  ///< the socket may have more
    };
    enum class Sending : std::uint8_t {
        ready,
        waiting_writable,  ///< for room in the socket
        waiting_room,      ///< for room in the packet threads' ring
    };
    /// The access for other threads. Wakers hold it and may outlive the driver.
    struct Mailbox {
        Mutex mutex;
        Driver* driver GUARDED_BY(mutex) = nullptr;
    };

    Result<void> use(Result<std::unique_ptr<DatagramSocket>> socket);
    void schedule_turn() noexcept { turn_scheduled_ = true; }
    void turn();
    bool receive();
    void note_refusals();
    void run_loop();
    void step();
    void wait();
    bool transmit();
    bool transmit_by_threads();
    bool send_pending();
    void take_refused(const proto::Transmit& refused, const SendResult& why);
    void on_room() override;
    void on_not_sent(const proto::Transmit& refused, const SendResult& why) override;
    [[nodiscard]] std::optional<proto::Opening> opening_of(std::span<const std::byte> datagram) const override {
        return endpoint_.opening_of(datagram);
    }
    void start_packet_threads();
    void set_timer();
    void stop_if_drained();
    void begin_draining(Duration at_most);
    void finish_run();
    void take_missed();
    [[nodiscard]] bool must_give_up_draining();

    EventLoop loop_;
    ReceiveTrouble trouble_;
    std::unique_ptr<DatagramSocket> socket_;
    proto::Endpoint endpoint_;
    Options options_;
    HandledConnections connections_;
    Carriers carriers_;
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();

    std::vector<std::byte> send_buffer_;
    std::optional<proto::Transmit> pending_;  // taken from the endpoint, not yet sent by the socket
    std::size_t pending_sent_ = 0;            // bytes of pending_ that were sent
    Receiving receiving_ = Receiving::paused;
    Sending sending_ = Sending::ready;
    std::atomic<bool> heard_{false};
    PassOn pass_on_;
    PassRefusals pass_refusals_;
    std::atomic<std::size_t> taken_{0};  // queued datagrams from other shares
    Lifecycle<kLife> life_{Life::running};
    Instant drain_end_;  // of draining
    bool turn_scheduled_ = false;
    // Requests that could not be posted for lack of memory. An interrupt needs none; the loop reads the flags.
    std::atomic<bool> wakes_missed_{false};
    std::atomic<bool> drain_wished_{false};
    std::atomic<Duration> drain_at_most_{Duration::zero()};
    std::atomic<bool> finish_wished_{false};
    std::optional<Instant> wake_at_;                 // time of the next turn
    std::optional<Instant> drain_until_;             // set if draining lacks memory
    std::unique_ptr<PacketThreads> packet_threads_;  // only during run(); null with one thread
};

}  // namespace udtx::io

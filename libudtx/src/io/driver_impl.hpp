// The inside of Driver. Order of a turn: receive, time, events, transmit, events, timer.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "io/driver.hpp"
#include "io/lanes.hpp"

namespace udtx::io {

class Driver::Impl {
  public:
    Impl(proto::EndpointDeps deps, TransportConfig config, Options options);
    ~Impl();

    Result<void> open(const Address& bind);
    Result<void> open(std::unique_ptr<DatagramSocket> socket);
    [[nodiscard]] const DatagramSocket* socket() const noexcept { return socket_.get(); }
    std::shared_ptr<proto::Connection> connect(std::vector<proto::PathAddresses> ways,
                                               std::shared_ptr<proto::ConnectionHandler> handler);
    void listen(std::size_t max_connections, AcceptCallback accept);
    [[nodiscard]] bool heard() const noexcept { return heard_.load(std::memory_order_relaxed); }
    void on_refused(RefusedCallback refused) { refused_ = std::move(refused); }
    void run();
    void stop();
    void stop_when_drained(Duration at_most);
    [[nodiscard]] proto::Waker waker_for(const proto::Connection& connection);
    void post(std::function<void()> fn);

  private:
    /// The way in for other threads; outlives the driver in the hands of Wakers.
    struct Mailbox {
        std::mutex mutex;
        Impl* driver = nullptr;
    };
    struct Entry {
        std::shared_ptr<proto::Connection> connection;
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::shared_ptr<std::atomic<bool>> woken;
        std::vector<Refusal> refusing;   // ICMP said so before the handshake had finished
        std::optional<Instant> refused;  // since when wherever it could be dialled
        bool connected = false;
    };
    using EntryPtr = std::shared_ptr<Entry>;

    EntryPtr adopt(std::shared_ptr<proto::Connection> connection, std::shared_ptr<proto::ConnectionHandler> handler);
    [[nodiscard]] EntryPtr find(const proto::Connection* connection) const;
    void wake(const proto::Connection* connection, std::atomic<bool>& woken);

    void wait_readable();
    void wait_writable();
    void schedule_turn();
    void turn();
    bool receive();
    bool deliver();
    void deliver(const EntryPtr& entry);
    void give_up(proto::Connection& connection, const std::exception& failed);
    void run_context();
    void tell_refused(proto::Connection& connection);
    void take_new_connections();
    bool transmit();
    bool transmit_by_lanes();
    bool send_pending();
    void on_not_sent(const proto::Transmit& refused, const SendResult& why);
    void start_lanes();
    void note_refusals(Instant now);
    void end_refused(Instant now);
    void handle_due_timeout();
    void arm_timer();
    void stop_if_drained();
    void begin_draining(Duration at_most);
    void finish_run();
    void take_missed();
    [[nodiscard]] bool must_give_up_draining();

    boost::asio::io_context context_{1};
    boost::asio::steady_timer timer_{context_};
    boost::asio::steady_timer drain_timer_{context_};
    std::unique_ptr<DatagramSocket> socket_;
    std::optional<boost::asio::posix::stream_descriptor> readiness_;
    Result<void> config_status_;  // what open() says
    proto::Endpoint endpoint_;
    std::size_t lane_count_;
    Options options_;
    AcceptCallback accept_;
    RefusedCallback refused_;
    std::unordered_map<const proto::Connection*, EntryPtr> entries_;
    std::size_t refused_entries_ = 0;
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();

    std::vector<std::byte> send_buffer_;
    std::optional<proto::Transmit> pending_;  // taken from the endpoint, not yet taken by the socket
    std::size_t pending_sent_ = 0;            // bytes of it that were
    bool waiting_room_ = false;               // in the lanes' ring
    bool waiting_readable_ = false;
    bool waiting_writable_ = false;
    bool readable_ = false;
    std::atomic<bool> heard_{false};
    bool turn_scheduled_ = false;
    bool stop_when_drained_ = false;
    bool finished_ = false;
    // What other threads had no memory to post. Stopping the context needs none, and brings the loop round to it.
    std::atomic<bool> wakes_missed_{false};
    std::atomic<bool> drain_wished_{false};
    std::atomic<Duration> drain_at_most_{Duration::zero()};
    std::atomic<bool> finish_wished_{false};
    std::optional<Instant> armed_for_;
    std::optional<Instant> drain_until_;  // set when draining lacks memory
    std::unique_ptr<Lanes> lanes_;        // while there is a run(); null with one stream
};

}  // namespace udtx::io

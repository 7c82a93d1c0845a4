// One TLS connection of the relay: reads messages, and sends them from a bounded queue.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include "rendezvous/messages.hpp"
#include "rendezvous/relay_core.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::apps {

/// On the thread of its context. Lives as long as one of its operations is pending.
class RelayConnection : public std::enable_shared_from_this<RelayConnection> {
  public:
    using Tcp = boost::asio::ip::tcp;

    /// The connection calls `ended` later than in abort(), so that its owner may call abort() while it uses others.
    struct Owner {
        std::function<void(RelayConnectionId, const Message&)> message;
        std::function<void(RelayConnectionId, const std::string& why)> violation;
        std::function<void(RelayConnectionId)> ended;  ///< once, also after finish()
    };
    /// `owner` must outlive the thread's last operation.
    RelayConnection(RelayConnectionId id, Tcp::socket socket, boost::asio::ssl::context& tls, const Owner& owner,
                    std::size_t queue_bytes);

    void begin();
    /// A message without room ends the connection.
    void send(const Message& message);
    /// Sends data of `from`, from which nothing more is read for `pause`, and while this connection has no room.
    void pass(RelayConnection& from, const Data& data, std::chrono::nanoseconds pause);
    /// Sends what is queued and ends.
    void finish();
    /// Ends at once.
    void abort();

  private:
    enum class Stage {
        greets,  ///< TLS handshake
        talks,
        finishes,  ///< sends the rest
        drains,    ///< everything is sent; reads until the other side has closed
        ended,
    };
    static constexpr Step<Stage> kSteps[] = {{Stage::greets, Stage::talks},    {Stage::greets, Stage::ended},
                                             {Stage::talks, Stage::finishes},  {Stage::talks, Stage::ended},
                                             {Stage::finishes, Stage::drains}, {Stage::finishes, Stage::ended},
                                             {Stage::drains, Stage::ended}};
    using Stream = boost::asio::ssl::stream<Tcp::socket>;

    /// Reads on, now or when it may.
    void read();
    void on_read(std::size_t size);
    [[nodiscard]] bool full() const noexcept { return queued_ > most_queued_ / 2; }
    void write();
    void write_rest(std::size_t written);
    void on_written();
    void drain();
    /// Ends the connection unless this is called again in time.
    void limit(std::chrono::seconds time);

    RelayConnectionId id_;
    Stream stream_;
    const Owner& owner_;
    std::size_t most_queued_;
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer pause_;
    Lifecycle<kSteps> stage_{Stage::greets};
    std::weak_ptr<RelayConnection> takes_;    // what is read here goes there ...
    std::weak_ptr<RelayConnection> waiting_;  // ... and this one waits until there is room here
    MessageReader reader_;
    std::array<std::byte, 16384> incoming_{};
    bool reading_ = false;
    std::deque<std::vector<std::byte>> queue_;
    std::size_t queued_ = 0;  // bytes
    std::vector<std::byte> writing_;
};

}  // namespace udtx::apps

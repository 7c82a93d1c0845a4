#include "rendezvous/relay.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "rendezvous/relay_connection.hpp"
#include "rendezvous/socket_address.hpp"
#include "rendezvous/tls.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kTick{500};
/// Pause before the next accept() if one fails, for example because no descriptors are left.
constexpr std::chrono::milliseconds kAcceptPause{200};
constexpr std::chrono::milliseconds kAfterException{10};
constexpr std::chrono::milliseconds kStopTime{500};
/// Datagrams that are read before the connections get their turn.
constexpr int kDatagramsInTurn = 64;
/// Connections that have been refused and wait for the other side to close.
constexpr std::size_t kLeaving = 256;
/// A free UDP port may be in use for TCP.
constexpr int kPortAttempts = 20;

tcp::endpoint endpoint_of(const Address& address) {
    const SocketAddress from = socket_address(address);
    tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &from.storage, from.size);
    endpoint.resize(from.size);
    return endpoint;
}

class AsioRelay final : public Relay, private RelayOutput {
  public:
    AsioRelay(Options options, TlsContextPtr tls)
        : report_(std::move(options.report)), budget_(options.budget), tls_(tls.release()) {}
    ~AsioRelay() override { end(); }

    Result<void> open(const HostPort& where) {
        const auto addresses = resolve(where.host, where.port);
        if (!addresses) return addresses.error();
        Result<void> opened;
        for (const Address& address : *addresses) {
            for (int i = 0; i < kPortAttempts; ++i) {
                opened = listen(address);
                if (opened || address.port != 0) break;
            }
            if (opened) break;
        }
        if (!opened) return opened;
        accept();
        receive();
        tick();
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error& failed) {
            return Error{ErrorCode::no_resources,
                         std::string("cannot start the thread of the relay: ") + failed.what()};
        }
        return {};
    }

    [[nodiscard]] const Address& address() const noexcept override { return local_; }

    RelayCounters stop() override {
        end();
        return core_.counters();
    }

  private:
    Result<void> listen(const Address& address) {
        auto bound = bind_udp(address);
        if (!bound) return bound.error();
        const auto where = endpoint_of(bound->local);
        error_code error;
        tcp::acceptor acceptor(context_);
        acceptor.open(where.protocol(), error);
        if (!error) ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
        if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error && where.protocol() == tcp::v6()) acceptor.set_option(asio::ip::v6_only(false), error);
        if (!error) acceptor.bind(where, error);
        if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
        if (error) {
            return Error{ErrorCode::network,
                         "cannot listen on " + to_string(bound->local) + "/tcp: " + error.message()};
        }
        local_ = bound->local;
        acceptor_ = std::move(acceptor);
        mapped_ = local_.family == Address::Family::v6;
        udp_.assign(mapped_ ? udp::v6() : udp::v4(), bound->fd.release(), error);
        const int yes = 1;
        const int level = mapped_ ? IPPROTO_IPV6 : IPPROTO_IP;
        if (!error)
            ::setsockopt(udp_.native_handle(), level, mapped_ ? IPV6_RECVPKTINFO : IP_PKTINFO, &yes, sizeof yes);
        if (error) return Error{ErrorCode::network, "cannot set up a UDP socket for the relay: " + error.message()};
        return {};
    }

    /// If a connection runs out of a resource, its exception ends its operation; the others continue. What repeats
    /// begins its next round first.
    void run() {
        for (;;) {
            try {
                context_.run();
                return;
            } catch (const std::exception&) {
                std::this_thread::sleep_for(kAfterException);
            }
        }
    }

    void end() {
        if (!thread_.joinable()) return;
        asio::post(context_, [this] {
            error_code ignored;
            acceptor_.close(ignored);
            core_.stop(monotonic_now());
            stopping_ = true;
            deadline_.expires_after(kStopTime);
            deadline_.async_wait([this](error_code) { context_.stop(); });
            if (connections_.empty()) context_.stop();
        });
        thread_.join();
    }

    // --- connections

    void accept() {
        acceptor_.async_accept([this](error_code error, tcp::socket socket) {
            if (error == asio::error::operation_aborted) return;
            if (error) return accept_later();
            accept();
            begin(std::move(socket));
        });
    }
    void accept_later() {
        pause_.expires_after(kAcceptPause);
        pause_.async_wait([this](error_code error) {
            if (!error) accept();
        });
    }

    void begin(tcp::socket socket) {
        ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
        error_code error;
        const auto from = socket.remote_endpoint(error);
        const std::size_t most = 2 * budget_.sessions + budget_.guests + kLeaving;
        if (error || connections_.size() >= most) return;
        const RelayConnectionId id = ++last_id_;
        if (!core_.on_connect(monotonic_now(), id, address_of(from.data()))) return;
        keep_alive(socket.native_handle());
        auto connection = std::make_shared<RelayConnection>(id, std::move(socket), tls_, owner_, budget_.queue_bytes);
        connections_[id] = connection;
        connection->begin();
    }

    void on_end(RelayConnectionId id) {
        connections_.erase(id);
        core_.on_disconnect(monotonic_now(), id);
        if (stopping_ && connections_.empty()) context_.stop();
    }

    void send(RelayConnectionId to, const Message& message) override {
        if (const auto found = connections_.find(to); found != connections_.end()) found->second->send(message);
    }
    void pass(RelayConnectionId from, RelayConnectionId to, const Data& data, Duration pause) override {
        const auto source = connections_.find(from);
        const auto target = connections_.find(to);
        if (source == connections_.end() || target == connections_.end()) return;
        target->second->pass(*source->second, data, pause);
    }
    void disconnect(RelayConnectionId id) override {
        const auto found = connections_.find(id);
        if (found != connections_.end()) found->second->finish();
    }
    void report(const std::string& line) override {
        if (report_) report_(line);
    }

    // --- datagrams

    void receive() {
        udp_.async_wait(udp::socket::wait_read, [this](error_code error) {
            if (error == asio::error::operation_aborted) return;
            receive();
            for (int i = 0; i < kDatagramsInTurn && receive_one(); ++i) {
            }
        });
    }

    /// False: none is left. The answer leaves from the address to which the datagram came, because a NAT takes nothing
    /// else for an answer, and this host may have several.
    bool receive_one() {
        sockaddr_storage from{};
        iovec part{datagram_.data(), datagram_.size()};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = came_to_.data();
        message.msg_controllen = came_to_.size();
        const ssize_t size = ::recvmsg(udp_.native_handle(), &message, MSG_DONTWAIT);
        // An ICMP report about an earlier datagram is an error, too.
        if (size < 0) return errno != EAGAIN;
        came_to_bytes_ = message.msg_controllen;
        core_.on_datagram(address_of(reinterpret_cast<const sockaddr*>(&from)),
                          std::span(datagram_).first(static_cast<std::size_t>(size)));
        return true;
    }

    void send_datagram(const Address& to, std::span<const std::byte> datagram) override {
        if (to.family == Address::Family::v6 && !mapped_) return;
        SocketAddress where = socket_address(to, mapped_);
        iovec part{const_cast<std::byte*>(datagram.data()), datagram.size()};
        msghdr message{};
        message.msg_name = &where.storage;
        message.msg_namelen = where.size;
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = came_to_bytes_ > 0 ? came_to_.data() : nullptr;
        message.msg_controllen = came_to_bytes_;
        // The end asks again if the answer is lost.
        (void)::sendmsg(udp_.native_handle(), &message, MSG_DONTWAIT);
    }

    void tick() {
        ticker_.expires_after(kTick);
        ticker_.async_wait([this](error_code error) {
            if (error) return;
            tick();
            core_.on_tick(monotonic_now());
        });
    }

    std::function<void(const std::string&)> report_;
    RelayBudget budget_;
    SystemRng random_;
    RelayCore core_{budget_, random_, *this};
    RelayConnection::Owner owner_{
        .message = [this](RelayConnectionId id,
                          const Message& message) { core_.on_message(monotonic_now(), id, message); },
        .violation = [this](RelayConnectionId id,
                            const std::string& why) { core_.on_violation(monotonic_now(), id, why); },
        .ended = [this](RelayConnectionId id) { on_end(id); }};
    asio::ssl::context tls_;
    asio::io_context context_{1};
    asio::steady_timer pause_{context_};
    asio::steady_timer ticker_{context_};
    asio::steady_timer deadline_{context_};
    tcp::acceptor acceptor_{context_};
    udp::socket udp_{context_};
    std::array<std::byte, 2048> datagram_{};
    alignas(cmsghdr) std::array<std::byte, 256> came_to_{};  ///< of the datagram: its destination
    std::size_t came_to_bytes_ = 0;
    std::unordered_map<RelayConnectionId, std::shared_ptr<RelayConnection>> connections_;
    RelayConnectionId last_id_ = 0;
    Address local_{};
    bool mapped_ = false;    ///< the sockets are of IPv6
    bool stopping_ = false;  ///< on the relay's thread
    std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Relay>> Relay::start(Options options) {
    auto tls = make_relay_tls();
    if (!tls) return tls.error();
    const HostPort where = options.listen;
    auto relay = std::make_unique<AsioRelay>(std::move(options), std::move(*tls));
    if (const auto opened = relay->open(where); !opened) return opened.error();
    return std::unique_ptr<Relay>(std::move(relay));
}

}  // namespace udtx::apps

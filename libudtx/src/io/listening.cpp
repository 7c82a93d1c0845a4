#include "io/listening.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/addresses.hpp"
#include "io/socket_setup.hpp"
#include "os/system.hpp"
#include "proto/window_memory.hpp"
#include "udtx/system.hpp"

namespace udtx::io {
namespace {

constexpr int kPortAttempts = 20;

bool is_elsewhere(const Error& error) {
    return error.system_error == EADDRNOTAVAIL || error.system_error == EAFNOSUPPORT;
}

/// A port of which TCP is free, too, for kSamePort; 0: any.
std::uint16_t free_port(Address address) {
    const auto socket = bind_tcp(address);
    return socket ? tcp_address(socket->get(), TcpEnd::here).port : 0;
}

/// With port 0, a port that is free for UDP and TCP.
Result<void> open_at(Driver& driver, Address address) {
    if (address.port != 0) return driver.open(address);
    for (int i = 0; i < kPortAttempts; ++i) {
        address.port = free_port(address);
        auto opened = driver.open(address);
        if (opened || opened.error().system_error != EADDRINUSE) return opened;
    }
    address.port = 0;
    return driver.open(address);
}

}  // namespace

Result<void> open_to_listen(Driver& driver, const std::string& listen, AddressChoice choice, UniqueFd socket) {
    if (socket) return driver.open(std::move(socket));
    const auto where = parse_host_port(listen);
    if (!where) return where.error();
    const auto addresses = resolve(where->host, where->port, choice);
    if (!addresses) return addresses.error();
    Result<void> failed;
    for (const Address& address : *addresses) {
        auto opened = open_at(driver, address);
        if (opened) return opened;
        if (failed || !is_elsewhere(opened.error())) failed = std::move(opened);
    }
    return failed;
}

Result<std::vector<std::uint16_t>> listen_tcp(Driver& driver, const std::vector<std::string>& where) {
    std::vector<std::uint16_t> ports;
    if (where.empty()) return ports;
    auto tls = openssl::TlsStreams::make(Role::server);
    if (!tls) return tls.error();
    for (const std::string& one : where) {
        Result<std::vector<Address>> addresses = std::vector<Address>();
        if (one == kSamePort) {
            const auto local = driver.local_address();
            if (!local) return local.error();
            addresses->push_back(*local);
        } else {
            const auto parsed = parse_host_port(one);
            if (!parsed) return parsed.error();
            addresses = resolve(parsed->host, parsed->port);
            if (!addresses) return addresses.error();
        }
        Result<UniqueFd> socket = Error{ErrorCode::network, "no address to listen on for TCP: " + one};
        for (const Address& address : *addresses) {
            socket = bind_tcp(address);
            if (socket) break;
        }
        if (!socket && one == kSamePort) continue;
        if (!socket) return socket.error();
        ports.push_back(tcp_address(socket->get(), TcpEnd::here).port);
        driver.carriers().listen(std::move(*socket), *tls);
    }
    return ports;
}

namespace {

using Threads = std::vector<std::shared_ptr<ProtocolThread>>;

/// Makes the thread number `share` of `shares`, without a socket.
Result<std::shared_ptr<ProtocolThread>> make_share(const SharedPort& port, std::size_t share, std::size_t shares) {
    Driver::Options options = port.options;
    options.share = share;
    options.shares = shares;
    options.socket.join = share > 0;
    auto made = ProtocolThread::make(port.credentials, port.config, options);
    if (!made) return made.error();
    return ProtocolThread::share(std::move(*made));
}

/// The threads of a server stop before they are destroyed, so a thread that is gone needs no datagrams.
void connect_shares(const Threads& threads) {
    std::vector<std::weak_ptr<ProtocolThread>> all(threads.begin(), threads.end());
    for (const auto& thread : threads) {
        const auto pass_on = [all](std::size_t share, const proto::RxDatagram& datagram) {
            if (const auto other = all[share].lock()) other->driver().take(datagram);
        };
        const auto pass_refusals = [all, own = thread.get()](const std::vector<Refusal>& refusals) {
            for (const auto& one : all) {
                const auto other = one.lock();
                if (other && other.get() != own) other->driver().take(refusals);
            }
        };
        thread->driver().on_elsewhere(pass_on, pass_refusals);
        thread->driver().carriers().on_elsewhere([all](std::size_t share, const std::shared_ptr<StreamCarrier>& carrier,
                                                       Instant accepted) {
            const auto other = all[share].lock();
            if (!other) return;
            Driver& driver = other->driver();
            driver.post([&driver, carrier, accepted] { driver.carriers().take(monotonic_now(), carrier, accepted); });
        });
    }
}

/// Joins the other threads to the port of the first one, which has its socket. False: the system does not allow it.
bool join(const Threads& threads) {
    Driver& first = threads.front()->driver();
    const auto where = first.local_address();
    if (!where || !share_port(first.native_handle())) return false;
    for (std::size_t i = 1; i < threads.size(); ++i) {
        if (!threads[i]->driver().open(*where)) return false;
    }
    steer_datagrams(first.native_handle(), threads.size());
    connect_shares(threads);
    return true;
}

Result<Threads> open_with(SharedPort& port, std::size_t count) {
    Threads threads;
    port.options.window_memory = std::make_shared<proto::WindowMemory>(port.config.max_memory);
    for (std::size_t i = 0; i < count; ++i) {
        auto made = make_share(port, i, count);
        if (!made) return made.error();
        threads.push_back(std::move(*made));
    }
    Driver& first = threads.front()->driver();
    // A copy stays for a second attempt with one thread.
    UniqueFd socket;
    if (port.socket) {
        socket.reset(count > 1 ? ::fcntl(port.socket.get(), F_DUPFD_CLOEXEC, 0) : port.socket.release());
        if (!socket) return system_failure(ErrorCode::network, "cannot share a UDP port", errno);
    }
    if (const auto opened = open_to_listen(first, port.listen, port.choice, std::move(socket)); !opened) {
        return opened.error();
    }
    if (count > 1 && !join(threads)) return Threads();
    return threads;
}

}  // namespace

Result<Threads> open_shared(SharedPort port) {
    const std::size_t count = std::clamp<std::size_t>(port.threads, 1, kMaxProtocolThreads);
    auto threads = open_with(port, count);
    return threads && threads->empty() ? open_with(port, 1) : std::move(threads);
}

}  // namespace udtx::io

// Serves many transfers at a time. A client that sends is said to push, one that fetches is said to pull.
//
//     auto server = udtx::transfer::Server::open({.credentials = *key, .push = [](const udtx::transfer::Client&) {
//         return udtx::transfer::LandingOptions{.directory = "incoming"};
//     }});
//     if (server && server->start()) server->wait();
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/log.hpp"
#include "udtx/rate.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

/// Who has connected, as the handshake has proved.
struct Client {
    std::uint64_t number = 0;        ///< counts the connections of this server, from 1
    Address address{};               ///< of the client
    std::optional<PublicKey> key{};  ///< nullopt: all clients have the one pre-shared key
    std::uint64_t identity = 0;      ///< of the key, for LandingOptions::whose; 0 without a key
};

/// What a client that is let in gets.
struct Admission {
    Rate max_rate = Rate::infinite();  ///< cap of this connection, in either direction; not above zero: turned away
};

class ServedState;

/// One connection that the server serves. Copies mean the same connection, and may outlive the server. Any thread may
/// call any function.
class UDTX_EXPORT ServedTransfer {
  public:
    /// What the client wants.
    enum class Kind : std::uint8_t {
        unknown,  ///< it has not said so yet
        push,     ///< to send
        pull,     ///< to fetch, whether that was granted or not
        measure,  ///< to measure the line
    };
    /// Who it is.
    [[nodiscard]] const Client& client() const noexcept;
    /// What it wants.
    [[nodiscard]] Kind kind() const;
    /// It wanted to fetch, and that was granted.
    [[nodiscard]] bool sends() const;
    /// It wanted what it may not have: the outcome says why.
    [[nodiscard]] bool refused() const;
    /// The outcome is final, and a receipt has its name.
    [[nodiscard]] bool done() const noexcept;
    /// How far it is: one consistent snapshot.
    [[nodiscard]] Progress progress() const;
    /// What came of it; before done() what is known so far.
    [[nodiscard]] Outcome outcome() const;
    /// Figures of the connection, at most 100 ms old; nullopt before the first of them.
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    [[nodiscard]] Duration elapsed() const;       ///< from the handshake to now, or to the end
    [[nodiscard]] Duration idle() const;          ///< for how long nothing has moved
    [[nodiscard]] std::uint64_t held() const;     ///< bytes of memory that the client makes this end hold
    [[nodiscard]] Duration writing_time() const;  ///< push: for how long the writer was at work
    /// Changes the cap. That of its admission holds as well. No effect if the rate is not above zero.
    void set_max_rate(Rate rate) const;
    /// Ends it in good order, as Transfer::cancel() does; after two seconds at once. Returns at once.
    void cancel(ErrorCode code, const std::string& reason) const;

    /// For the library's own code.
    explicit ServedTransfer(std::shared_ptr<ServedState> state) : state_(std::move(state)) {}
    /// For the library's own code.
    [[nodiscard]] const std::shared_ptr<ServedState>& state() const noexcept { return state_; }

  private:
    std::shared_ptr<ServedState> state_;
};

/// What one client may take, so that the others are served as well. Clients with keys of their own count by key. With a
/// pre-shared key they count by address: with IPv6 by /64, unless it is link-local. Zero: as default_limits() says.
struct ServerLimits {
    std::size_t connections = 0;         ///< of all clients together
    std::size_t connections_of_one = 0;  ///< of one client
    std::uint64_t held_by_one = 0;       ///< bytes of memory that all connections of one client make this end hold
};
/// What the descriptors and the memory of this process allow: up to 1000 connections, a quarter of them of one client,
/// and a quarter of the memory for one client (512 MiB at least).
[[nodiscard]] UDTX_EXPORT ServerLimits default_limits();

/// Where a server listens, whom it lets in, and what they may do.
struct ServerOptions {
    std::string listen = ":7000";               ///< "host:port", "[v6]:port" or ":port"; port 0 picks a free one
    AddressChoice choice = AddressChoice::any;  ///< which addresses of `listen` to try
    UniqueFd socket{};                          ///< a bound UDP socket to use instead, which the server closes
    Credentials credentials;                    ///< of the server, and whom it trusts
    LinkOptions link{};                         ///< of each connection
    /// Threads that share the connections, each with a socket of its own at the port: 1 to 16. One where the system
    /// does not let sockets share a port, and with `socket`. Where there are several, other programs of the same user
    /// may bind to the port (SO_REUSEPORT), and each of them calls the factories of link.transport.
    std::size_t protocol_threads = 1;
    ServerLimits limits{};  ///< of each client

    /// @name Called on a protocol thread, one call at a time
    /// They return soon, throw nothing, and call nothing of the server but transfers().
    ///@{

    /// Whether a client may come in, if there is room; the client is told the error (network: as by a server that is
    /// full). Empty: everybody who has a key may.
    std::function<Result<Admission>(const Client&)> admit{};
    /// Where a push goes, or why the client may not push. Empty: nobody may.
    std::function<Result<LandingOptions>(const Client&)> push{};
    /// Whence a pull of `wanted` comes, or why the client may not have it. Empty: nobody may pull.
    std::function<Result<OfferOptions>(const Client&, const Selection& wanted)> pull{};
    /// A handshake failed at this end, or there was no memory for a connection (`internal`).
    std::function<void(const Address& from, const Error& why)> connection_failed{};
    /// A client was not let in: by `admit`, or since there is no room.
    std::function<void(const Client&, const Error& why)> turned_away{};
    ///@}

    /// Is told of handshakes that failed, and which paths of the clients come and go. One call at a time, on a protocol
    /// thread, perhaps while another one is in a call of those above. See log.hpp.
    LogSink log{};

    /// Called on the server's own thread when the outcome of a transfer is final and its receipt has its name; one call
    /// at a time. It may block; the next transfer to end waits for it. Where it throws std::bad_alloc it is called for
    /// the same transfer again; it must throw nothing else.
    std::function<void(const ServedTransfer&)> ended{};
};

class ServerState;

/// A server: first open(), then start(). Several threads may call its functions at once; the destructor and the
/// assignment need it for themselves.
class UDTX_EXPORT Server {
  public:
    /// Binds the socket; starts no thread. network: there is no such address here, or no socket; invalid_argument: the
    /// configuration, or the socket is not bound.
    static Result<Server> open(ServerOptions options);
    Server(Server&&) noexcept;             ///< The source may then only be assigned to or destroyed.
    Server& operator=(Server&&) noexcept;  ///< The destructor's rules hold for what was here before.
    /// Ends what is under way at once: to the clients it looks like a lost connection. Waits for disk calls that are
    /// under way. To end in good order call drain() or cancel(), and wait() first.
    ~Server();

    /// Where it listens.
    [[nodiscard]] Address local_address() const;
    /// As Transfer::buffer_advice().
    [[nodiscard]] std::string buffer_advice() const;
    /// Starts the threads, and serves. network, internal: there are not enough threads or descriptors; it may be called
    /// again. invalid_argument: it has succeeded before.
    Result<void> start();
    /// Those under way, and those of which `ended` has not been told yet.
    [[nodiscard]] std::vector<ServedTransfer> transfers() const;
    /// Lets nobody in any more: they are told `interrupted`. Transfers under way go on to their end.
    void drain();
    /// drain(), and ends all transfers in good order. Returns at once.
    void cancel(ErrorCode code = ErrorCode::interrupted, const std::string& reason = "the server is being stopped");
    /// Waits until a server that was drained or cancelled has no transfer left, but no longer than `at_most`. True: it
    /// has none. Returns at once, true, when it was not started.
    bool wait(std::chrono::milliseconds at_most) const;
    /// Waits until the server was drained or cancelled and has no transfer left. Returns at once when it was not
    /// started.
    void wait() const;
    /// Ends the protocol threads, after at most `at_most` in which closes may still reach the clients. May be repeated.
    /// Transfers that have not ended by then never do: call wait() before. No effect when it was not started.
    void stop(Duration at_most = std::chrono::milliseconds(300));
    /// Processor time of the protocol threads together.
    [[nodiscard]] Duration protocol_time() const;

  private:
    explicit Server(std::unique_ptr<ServerState> state);
    std::unique_ptr<ServerState> state_;
};

/// Whether `below` in `directory` can be served, for writing too if `write`. file_io: what is wrong; a link leads to
/// `below`, say.
[[nodiscard]] UDTX_EXPORT Result<void> check_served(const std::string& directory, const std::string& below, bool write);

}  // namespace udtx::transfer

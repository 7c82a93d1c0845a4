// A server for many concurrent transfers. A client that sends is said to push, one that fetches is said to pull.
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
#include "udtx/carrier.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/log.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

/// A connected client, authenticated by the handshake.
struct Client {
    std::uint64_t number = 0;        ///< number of the connection at this server, from 1
    Address address{};               ///< address of the client
    std::optional<PublicKey> key{};  ///< public key; nullopt: all clients share one pre-shared key
    std::uint64_t identity = 0;      ///< identifies the key, for LandingOptions::whose; 0 without a key
};

/// What an admitted client gets.
struct Admission {
    /// Cap of this connection in both directions; a rate not above zero refuses the client.
    Rate max_rate = Rate::infinite();
};

class ServedState;

/// One connection that the server serves. Copies refer to the same connection, and may outlive the server. Any thread
/// may call any function.
class UDTX_EXPORT ServedTransfer {
  public:
    /// What the client requests.
    enum class Kind : std::uint8_t {
        unknown,  ///< the client has not sent its request yet
        push,     ///< to send files
        pull,     ///< to fetch files, whether granted or not
        measure,  ///< to measure the network path
    };
    /// The client.
    [[nodiscard]] const Client& client() const noexcept;
    /// What the client requests.
    [[nodiscard]] Kind kind() const;
    /// True if the client requested to fetch, and the request was granted.
    [[nodiscard]] bool sends() const;
    /// True if the request was refused. The outcome has the reason.
    [[nodiscard]] bool refused() const;
    /// True if the outcome is final, and a requested receipt has its final name.
    [[nodiscard]] bool done() const noexcept;
    /// The progress as one consistent snapshot.
    [[nodiscard]] Progress progress() const;
    /// The result. Before done() it is what is known so far.
    [[nodiscard]] Outcome outcome() const;
    /// Statistics of the connection, at most 100 ms old; nullopt until the first ones exist.
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    [[nodiscard]] Duration elapsed() const;       ///< from the handshake to now, or to the end
    [[nodiscard]] Duration idle() const;          ///< time since the last progress
    [[nodiscard]] std::uint64_t held() const;     ///< bytes of memory that the client makes this end hold
    [[nodiscard]] Duration writing_time() const;  ///< push: time in which the writer was busy
    /// Changes the cap. The cap of the Admission still applies. No effect unless the rate is above zero.
    void set_max_rate(Rate rate) const;
    /// Ends the transfer in good order, as Transfer::cancel() does; after two seconds it ends at once. Does not block.
    void cancel(ErrorCode code, const std::string& reason) const;

  private:
    friend class Server;
    friend class ServerState;
    explicit ServedTransfer(std::shared_ptr<ServedState> state) : state_(std::move(state)) {}
    std::shared_ptr<ServedState> state_;
};

/// Limits for one client, so that the server can serve others too. Clients with their own keys are counted by key. With
/// a pre-shared key they are counted by address; for IPv6 by /64, unless it is link-local. Zero: the value of
/// default_limits().
struct ServerLimits {
    std::size_t connections = 0;         ///< connections of all clients together
    std::size_t connections_of_one = 0;  ///< connections of one client
    std::uint64_t held_by_one = 0;       ///< bytes of memory that all connections of one client make this end hold
};
/// Limits that suit the descriptors and the memory of this process: up to 1000 connections, a quarter of them for one
/// client, and a quarter of the memory for one client (at least 512 MiB).
[[nodiscard]] UDTX_EXPORT ServerLimits default_limits();

/// Where a server listens, which clients it admits, and what they may do.
struct ServerOptions {
    std::string listen = ":7000";               ///< "host:port", "[v6]:port" or ":port"; port 0 picks a free one
    AddressChoice choice = AddressChoice::any;  ///< which addresses of `listen` to try
    UniqueFd socket{};                          ///< a bound UDP socket to use instead; the server closes it
    std::vector<std::string> tcp_listen{};      ///< see ListenOptions::tcp_listen
    Credentials credentials;                    ///< credentials of the server, with the clients that it trusts
    ConnectionOptions connection{};             ///< settings of each connection
    /// Number of threads that share the connections, 1 to 16. Each has its own socket on the port. It is 1 if the
    /// system does not let sockets share the port, for example that of a `socket` which another user has made. With
    /// several threads other programs of the same user may bind to the port (SO_REUSEPORT), and each thread calls the
    /// factories of connection.transport.
    std::size_t protocol_threads = 1;
    ServerLimits limits{};  ///< limits of each client

    /// @name Called on a protocol thread, one call at a time
    /// They must return soon, must not throw, and may call only transfers() of the server.
    ///@{

    /// Decides whether a client is admitted, if the server has room. The client receives the error; `network` looks
    /// like a full server. Empty: every authenticated client is admitted.
    std::function<Result<Admission>(const Client&)> admit{};
    /// Returns where to store a push, or why the client may not push. Empty: no client may push.
    std::function<Result<LandingOptions>(const Client&)> push{};
    /// Returns from where to serve a pull of `wanted`, or why the client may not have it. Empty: no client may pull.
    std::function<Result<OfferOptions>(const Client&, const Selection& wanted)> pull{};
    /// A handshake failed at this end, or memory was lacking for a connection (`internal`).
    std::function<void(const Address& from, const Error& why)> connection_failed{};
    /// A client was refused: by `admit`, or because the server is full.
    std::function<void(const Client&, const Error& why)> turned_away{};
    ///@}

    /// A file or link of a client has ended: it was stored, sent or failed. Paths are below the directory of the client
    /// (LandingOptions, OfferOptions). Several threads may call it at the same time. It must return soon, must not
    /// throw, and must not call the server. A ServedTransfer that outlives the server may still call it.
    std::function<void(const Client&, const FileEvent&)> file{};

    /// Receives messages about failed handshakes, and about clients' paths that open and close. A protocol thread calls
    /// it, one call at a time. At the same time another protocol thread may be in one of the callbacks above. See
    /// log.hpp.
    LogSink log{};

    /// Called when the outcome of a transfer is final and its receipt has its final name. The server's own thread calls
    /// it, one call at a time. It may block, but then the next transfer that ends waits. If it throws std::bad_alloc,
    /// it is called again for the same transfer. It must not throw anything else.
    std::function<void(const ServedTransfer&)> ended{};
};

class ServerState;

/// A server. Call open() first, then start(). Several threads may call its functions at the same time. Only the
/// destructor and the assignment need exclusive access.
class UDTX_EXPORT Server {
  public:
    /// Binds the socket, and starts no thread. network: this host does not have the address, or no socket is available.
    /// invalid_argument: the configuration is invalid, or the socket is not bound.
    static Result<Server> open(ServerOptions options);
    Server(Server&&) noexcept;             ///< The source may afterwards only be assigned or destroyed.
    Server& operator=(Server&&) noexcept;  ///< Ends the server that this object held, as the destructor does.
    /// Ends running transfers at once. To the clients this looks like a lost connection. Waits for disk calls in
    /// progress. To end in good order, call drain() or cancel(), and then wait().
    ~Server();

    /// Address at which the server listens.
    [[nodiscard]] Address local_address() const;
    /// TCP ports on which the server listens, too.
    [[nodiscard]] std::vector<std::uint16_t> tcp_ports() const;
    /// Number of threads that share the connections, see ServerOptions::protocol_threads.
    [[nodiscard]] std::size_t protocol_threads() const;
    /// See Transfer::buffer_advice().
    [[nodiscard]] std::string buffer_advice() const;
    /// Starts the threads, and serves. network, internal: threads or descriptors are lacking; the call may be repeated.
    /// invalid_argument: the server was already started.
    Result<void> start();
    /// Adds a byte stream to the program of a client, see Transfer::add_channel().
    void add_channel(const std::shared_ptr<Channel>& channel);
    /// Transfers that run, and those for which `ended` was not called yet.
    [[nodiscard]] std::vector<ServedTransfer> transfers() const;
    /// Replaces the credentials: handshakes that start from now on use them. Connections of clients that they do not
    /// admit end in good order with `authentication`; all others continue. internal: TLS cannot be set up, and nothing
    /// has changed.
    Result<void> set_credentials(const Credentials& credentials);
    /// Refuses new clients with `going_away`, so that they try again. Running transfers continue to their end.
    void drain();
    /// Calls drain(), and ends all transfers in good order. Does not block.
    void cancel(ErrorCode code = ErrorCode::interrupted, const std::string& reason = "the server is being stopped");
    /// no_route: the system has refused to receive on a socket for five seconds. The server then ends as after
    /// cancel().
    [[nodiscard]] Result<void> status() const;
    /// Waits until a drained or cancelled server has no more transfers, but no longer than `at_most`. Returns true if
    /// none is left. Returns true at once if the server was not started.
    bool wait(std::chrono::milliseconds at_most) const;
    /// Waits until the server was drained or cancelled and has no more transfers. Returns at once if it was not
    /// started.
    void wait() const;
    /// Ends the protocol threads. For up to `at_most` they still notify the clients of closed connections. May be
    /// called again. Transfers that still run then never end: call wait() first. No effect if the server was not
    /// started.
    void stop(Duration at_most = std::chrono::milliseconds(300));
    /// Processor time of all protocol threads together.
    [[nodiscard]] Duration protocol_time() const;

  private:
    explicit Server(std::unique_ptr<ServerState> state);
    std::unique_ptr<ServerState> state_;
};

/// Checks whether `below` in `directory` can be served, for writing too if `write`. file_io: it cannot; the message
/// says why, for example because a symbolic link leads to `below`.
[[nodiscard]] UDTX_EXPORT Result<void> check_served(const std::string& directory, const std::string& below, bool write);

}  // namespace udtx::transfer

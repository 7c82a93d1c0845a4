// Serves many transfers at a time: takes what is pushed, gives what is asked for.
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
#include "udtx/export.hpp"
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

/// Who has connected, and has proved it in the handshake.
struct Client {
    std::uint64_t number = 0;  ///< counts the connections of this server
    Address address{};
    std::optional<PublicKey> key{};  ///< none: all have the one pre-shared key
    std::uint64_t identity = 0;      ///< the key in eight bytes, for LandingOptions::whose; 0 without a key
};

/// What a client that is let in is given.
struct Admission {
    Rate max_rate = Rate::infinite();  ///< of this connection, in either direction
};

class ServedState;

/// One connection being served. Copies are the same one; any thread.
class UDTX_EXPORT ServedTransfer {
  public:
    enum class Kind : std::uint8_t {
        unknown,  ///< the client has not said yet what it wants
        push,     ///< the client brings something
        pull,     ///< the client asked for something, granted or not
        measure,  ///< the client only measures the line
    };
    [[nodiscard]] const Client& client() const noexcept;
    [[nodiscard]] Kind kind() const;
    /// Something is sent to the client: what it asked for was granted.
    [[nodiscard]] bool sends() const;
    /// What was asked for is not allowed: the outcome says why.
    [[nodiscard]] bool refused() const;
    [[nodiscard]] bool done() const noexcept;
    [[nodiscard]] Progress progress() const;
    [[nodiscard]] Outcome outcome() const;
    /// At most 100 ms old; none before the first of them.
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    [[nodiscard]] Duration elapsed() const;       ///< until it was done
    [[nodiscard]] Duration idle() const;          ///< so long nothing has moved
    [[nodiscard]] std::uint64_t held() const;     ///< bytes of memory that the client makes this end hold
    [[nodiscard]] Duration writing_time() const;  ///< for how long its writer was at work
    /// From now on, or that of its admission where that is less.
    void set_max_rate(Rate rate) const;
    /// Ends it in good order; two seconds later at once.
    void cancel(ErrorCode code, const std::string& reason) const;

    /// For the library's own code.
    explicit ServedTransfer(std::shared_ptr<ServedState> state) : state_(std::move(state)) {}
    [[nodiscard]] const std::shared_ptr<ServedState>& state() const noexcept { return state_; }

  private:
    std::shared_ptr<ServedState> state_;
};

/// What one client may take of a server, so that the others are served all the same. One client: one key; where all
/// have the one pre-shared key one host, which is an address, with IPv6 a /64 unless it is link-local. Zero: as
/// default_limits() says.
struct ServerLimits {
    std::size_t connections = 0;         ///< of all together
    std::size_t connections_of_one = 0;  ///< of one client
    std::uint64_t held_by_one = 0;       ///< bytes of memory that one client makes this end hold, all its connections
};
/// As this process's descriptors and memory allow: at most 1000 connections, a quarter of them of one client, which may
/// hold a quarter of the memory.
[[nodiscard]] UDTX_EXPORT ServerLimits default_limits();

struct ServerOptions {
    std::string listen = ":7000";  ///< "host:port", "[v6]:port" or ":port"; port 0 picks a free one
    AddressChoice choice = AddressChoice::any;
    int socket = -1;  ///< a bound UDP socket instead, which is closed at the end
    Credentials credentials;
    LinkOptions link{};
    ServerLimits limits{};

    // --- on the protocol thread: they return soon, throw nothing, and call nothing of the server but transfers()
    /// Whether a client may come in, if there is room; an error is what it is told (network: as by a server that is
    /// full). Empty: everybody may.
    std::function<Result<Admission>(const Client&)> admit{};
    /// What a client that brings something is given; `refused`: nothing. Empty: nobody may bring anything.
    std::function<Result<LandingOptions>(const Client&)> push{};
    /// The same of a client that asks for what `wanted` says. Empty: nobody may.
    std::function<Result<OfferOptions>(const Client&, const Selection& wanted)> pull{};
    /// A handshake that failed at our end, or a connection for which there was no memory (`internal`).
    std::function<void(const Address& from, const Error& why)> connection_failed{};
    /// A client that was not let in, by `admit` or since there is no room.
    std::function<void(const Client&, const Error& why)> turned_away{};

    // --- on the server's own thread, one call at a time: they may block
    /// The outcome of a transfer is final, and its receipt has its name. Where it throws std::bad_alloc, it is called
    /// of the same transfer again; it throws nothing else.
    std::function<void(const ServedTransfer&)> ended{};
};

class ServerState;

/// Order of calls: open(), which starts no thread, then start(). Any thread may call anything but the destructor.
class UDTX_EXPORT Server {
  public:
    /// network: there is no such address here, or no socket; invalid_argument: the configuration.
    static Result<Server> open(ServerOptions options);
    Server(Server&&) noexcept;
    Server& operator=(Server&&) noexcept;
    /// Ends what is under way as a lost connection does, and waits for its disk calls.
    ~Server();

    [[nodiscard]] Address local_address() const;
    [[nodiscard]] std::string buffer_advice() const;
    /// network, internal: there are no threads or descriptors to be had.
    Result<void> start();
    /// Those under way, and those that `ended` was not called of yet.
    [[nodiscard]] std::vector<ServedTransfer> transfers() const;
    /// Nobody is let in any more (code `interrupted`); who is in goes on to the end.
    void drain();
    /// The same, and ends what is under way in good order.
    void cancel(ErrorCode code = ErrorCode::interrupted, const std::string& reason = "the server is being stopped");
    /// True: nobody is let in any more, all have ended, and no disk call is under way.
    bool wait(std::chrono::milliseconds at_most) const;
    /// The same, for as long as it takes.
    void wait() const;
    /// Lets closes reach the peers for at most `at_most`, then ends the protocol thread. May be repeated.
    void stop(Duration at_most = std::chrono::milliseconds(300));
    /// What the protocol thread has needed so far.
    [[nodiscard]] Duration protocol_time() const;

  private:
    explicit Server(std::unique_ptr<ServerState> state);
    std::unique_ptr<ServerState> state_;
};

/// Whether the directory can be served: file_io names what is wrong with it, or with `below`, to which no link may
/// lead.
[[nodiscard]] UDTX_EXPORT Result<void> check_served(const std::string& directory, const std::string& below, bool write);

}  // namespace udtx::transfer

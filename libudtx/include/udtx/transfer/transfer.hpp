// Sends and fetches files over a connection of its own.
//
//     auto key = udtx::Credentials::from_psk_file("key");
//     auto outcome = udtx::transfer::send({.host = "example.org", .port = 7000, .credentials = *key,
//                                          .options = {.what = {.sources = {"photos"}}, .destination = "backup"}});
//     if (!outcome.status) std::cerr << outcome.status.error().message << '\n';
//
// start_send() and start_receive() give a Transfer that can be watched, slowed down and cancelled meanwhile; async.hpp
// has the same with Asio's completion tokens.
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
#include "udtx/log.hpp"
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::transfer {

/// What a program hears of a transfer while it runs. All on one thread of the transfer's own, one call at a time: they
/// may block, and may call everything of the Transfer but its destructor. They throw nothing.
struct Events {
    ProgressCallback progress{};                               ///< now and then, where there is any
    Duration progress_every = std::chrono::milliseconds(500);  ///< at least so far apart; 100 ms at least
    std::function<void(const Outcome&)> done{};                ///< once, the last: Transfer::done() is true by then
    LogSink log{};                                             ///< on the protocol thread, as log.hpp says
};

/// See LinkOptions::threads.
inline constexpr std::size_t kMaxThreads = 16;

/// How the connection is made and what bounds it, beside TransportConfig.
struct LinkOptions {
    TransportConfig transport{};
    /// Threads that packets pass through, 1 to kMaxThreads (docs/streams.md).
    std::size_t threads = 1;
    /// A transfer in which nothing moves for so long ends with `timeout`. Zero: it may rest for ever. Without a value:
    /// ten minutes, and for ever for a stream. The handshake has a limit of its own
    /// (TransportConfig::handshake_timeout).
    std::optional<Duration> patience{};
};

/// Whom to dial beside host and port.
struct DialOptions {
    LinkOptions link{};
    AddressChoice choice = AddressChoice::any;
    std::vector<Address> addresses{};  ///< tried in turn; empty: those of the host
    std::vector<PathRequest> paths{};  ///< all together, the handshake over the first that answers; empty: one path
    bool skip_absent_paths = false;    ///< paths that this host cannot have at the moment are left out
};

struct SendRequest {
    std::string host{};
    std::uint16_t port = 0;
    Credentials credentials;
    SendOptions options{};
    DialOptions dial{};
    Events events{};
};

struct ReceiveRequest {
    std::string host{};
    std::uint16_t port = 0;
    Credentials credentials;
    ReceiveOptions options{};
    DialOptions dial{};
    Events events{};
};

/// Where one connection is waited for.
struct AwaitRequest {
    std::string listen = ":0";  ///< "host:port", "[v6]:port" or ":port"; port 0 picks a free one
    int socket = -1;            ///< a bound UDP socket instead, which is closed at the end
    Credentials credentials;
    LinkOptions link{};
    Duration peer_within = std::chrono::seconds(60);  ///< nobody came for so long: the transfer ends with `timeout`
    Events events{};
};

class TransferState;

/// A transfer under way: one connection, one direction. Any thread may call anything but the destructor.
class UDTX_EXPORT Transfer {
  public:
    Transfer(Transfer&&) noexcept;
    Transfer& operator=(Transfer&&) noexcept;
    /// Ends one that is under way as a lost connection does, and waits for the disk calls that it is in.
    ~Transfer();

    [[nodiscard]] Progress progress() const;
    /// Final once it is done, before that what is known so far.
    [[nodiscard]] Outcome outcome() const;
    /// The outcome is final, the connection has ended, and a receipt has its name.
    [[nodiscard]] bool done() const noexcept;
    /// True: it is done.
    bool wait(std::chrono::milliseconds at_most) const;
    /// Until it is done.
    Outcome wait() const;
    /// Calls `call` once when it is done, on the thread of the Events, or at once if it is. It must not destroy the
    /// Transfer.
    void when_done(std::function<void()> call);

    /// The first call ends it in good order: the receiver commits what is complete, removes the rest and says what it
    /// has. When that takes too long, or at the second call, the connection ends at once.
    void cancel(ErrorCode code = ErrorCode::interrupted, const std::string& reason = "cancelled");
    /// Why it was cancelled, by us or for want of patience.
    [[nodiscard]] std::optional<Error> cancelled() const;
    /// It was cancelled some seconds ago and a disk call does not come back, for which the destructor would wait.
    [[nodiscard]] bool stuck() const noexcept;

    /// At most so much leaves from now on, IP and UDP headers included; also before there is a connection.
    void set_max_rate(Rate rate);
    /// Sender: nothing of this transfer stands at the receiver, so that nothing is asked and all of it sent. Were it
    /// not so, that would cost bytes: what stands there is then replaced as by any other run.
    void presume_fresh();
    /// The program at the other end is said to have ended: unless it answers soon, the connection ends.
    void suspect_peer();

    /// Of the connection, with the state and figures of each path; none before the handshake. At most 100 ms old while
    /// it runs, then those of its end.
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    [[nodiscard]] Duration stats_age() const;
    /// Time since the handshake had finished; none before that.
    [[nodiscard]] std::optional<Duration> connected_for() const;
    /// From the first packet to the finished handshake, on the side that dials; none before that.
    [[nodiscard]] std::optional<Duration> handshake_time() const;
    /// The connection was up and fell silent: dialling again may continue.
    [[nodiscard]] bool lost() const;
    /// So long nothing has moved.
    [[nodiscard]] Duration idle() const;
    /// Since it began, until it was done.
    [[nodiscard]] Duration elapsed() const;

    /// What it is reached by, of one that waits for a connection.
    [[nodiscard]] Address local_address() const;
    /// Any datagram has come.
    [[nodiscard]] bool heard() const noexcept;
    /// One line that names the setting and the value where the system grants smaller socket buffers than asked.
    [[nodiscard]] std::string buffer_advice() const;
    /// What the protocol thread has needed, and for how long the receiver's writer was at work.
    [[nodiscard]] Duration protocol_time() const;
    [[nodiscard]] Duration writing_time() const;

  private:
    friend class TransferState;
    explicit Transfer(std::unique_ptr<TransferState> state);
    std::unique_ptr<TransferState> state_;
};

/// Dials, and sends. Looks up the host's name before it returns. invalid_argument or file_io names the source or the
/// path that cannot be had; network: the name is not known, or there is no socket.
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_send(SendRequest request);
/// Dials, and fetches. Errors as of start_send().
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_receive(ReceiveRequest request);
/// The same, until it is done; what kept it from being started is the outcome's status.
[[nodiscard]] UDTX_EXPORT Outcome send(SendRequest request);
[[nodiscard]] UDTX_EXPORT Outcome receive(ReceiveRequest request);

/// What of the sources a sender has found that was started for them by other means.
struct FoundSources {
    SourceShape shape = SourceShape::several;
    std::vector<FailedFile> missing{};  ///< asked for and not there, while others are
};
/// Waits for one connection, and sends over it. What the receiver wants it has said by other means, and so it has the
/// number of the transfer: SendOptions::transfer and ReceiveOptions::transfer are the same.
[[nodiscard]] UDTX_EXPORT Result<Transfer> await_receiver(AwaitRequest request, SendOptions options,
                                                          FoundSources found = {});
/// Waits for one connection, and takes what comes over it.
[[nodiscard]] UDTX_EXPORT Result<Transfer> await_sender(AwaitRequest request, LandingOptions options);

/// What takes a few milliseconds and needs no key, once a process: for a program that waits for a key.
UDTX_EXPORT void prepare();

}  // namespace udtx::transfer

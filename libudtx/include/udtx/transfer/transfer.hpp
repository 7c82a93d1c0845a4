// Sends and fetches trees of files. Each transfer has its own connection.
//
//     auto key = udtx::Credentials::from_psk_file("key");
//     auto outcome = udtx::transfer::send({.host = "example.org", .port = 7000, .credentials = *key,
//                                          .options = {.what = {.sources = {"photos"}}, .destination = "backup"}});
//     if (!outcome.status) std::cerr << outcome.status.error().message << '\n';
//
// send() and receive() block until the transfer has ended. start_send() and start_receive() resolve the host name and
// return a Transfer. With it the program can watch the transfer, change its rate and cancel it. async.hpp offers the
// same for Boost.Asio. server.hpp serves many transfers. await_sender() and await_receiver() wait for one connection.
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
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"

/// Transfers of trees of files.
namespace udtx::transfer {

/// Callbacks of a running transfer. One thread of the transfer calls these functions, one at a time, so they may block.
/// The first calls may happen before start_send() has returned. The callbacks may call any function of the Transfer
/// except wait() and the destructor. They must not throw.
struct Events {
    ProgressCallback progress{};  ///< called while the transfer runs, and once at its end
    /// Minimum time between two progress calls; at least 100 ms.
    Duration progress_every = std::chrono::milliseconds(500);
    std::function<void(const Outcome&)> done{};  ///< called once, after Transfer::done() has become true
    LogSink log{};                               ///< called on the protocol thread, see log.hpp
};

/// Upper limit of ConnectionOptions::threads.
inline constexpr std::size_t kMaxThreads = 16;

/// Default of ConnectionOptions::patience. It is long enough for the slowest disk to flush, and short enough that
/// nobody waits until the next morning.
inline constexpr Duration kPatience = std::chrono::minutes(10);

/// The value that the tools use for TransportConfig::max_memory: a quarter of the memory available to this process, in
/// bytes, at most 4 GiB. Any thread.
[[nodiscard]] UDTX_EXPORT std::uint64_t default_window_memory();

/// Settings of a connection, and its limits.
struct ConnectionOptions {
    TransportConfig transport{};  ///< settings of the connection
    /// Number of threads that process packets, including the protocol thread: 1 to kMaxThreads
    /// (docs/inside/architecture.md).
    std::size_t threads = 1;
    /// If nothing moves for this long, the transfer ends with `timeout`. Zero: never. nullopt: ten minutes, or never if
    /// a Transfer sends or receives a stream; a server applies the ten minutes to streams too.
    /// TransportConfig::handshake_timeout limits the handshake.
    std::optional<Duration> patience{};
};

/// How to connect to a host.
struct PeerOptions {
    ConnectionOptions connection{};             ///< settings of the connection
    AddressChoice choice = AddressChoice::any;  ///< which addresses of the host to try
    /// Addresses to try side by side instead of those of the host; empty: resolve the host name.
    std::vector<Address> addresses{};
    CarrierOptions carriers{};  ///< what may carry the connection
    /// A bound UDP socket to connect from, which the transfer duplicates; -1: a new one.
    int socket = -1;
    std::vector<PathRequest> paths{};  ///< paths to use together; empty: one path, chosen by the routing table
    bool skip_absent_paths = false;    ///< true: omit paths that this host does not have at present
};

/// What to send, and to whom.
struct SendRequest {
    std::string host{};       ///< name or address of the receiver
    std::uint16_t port = 0;   ///< its UDP port
    Credentials credentials;  ///< credentials that the receiver accepts
    SendOptions options{};    ///< what to send
    PeerOptions peer{};       ///< how to connect to the receiver
    Events events{};          ///< callbacks of the program
};

/// What to fetch, and from whom.
struct ReceiveRequest {
    std::string host{};        ///< name or address of the sender
    std::uint16_t port = 0;    ///< its UDP port
    Credentials credentials;   ///< credentials that the sender accepts
    ReceiveOptions options{};  ///< what to fetch
    PeerOptions peer{};        ///< how to connect to the sender
    Events events{};           ///< callbacks of the program
};

/// Where to wait for the only connection of a transfer.
struct AwaitRequest {
    std::string listen = ":0";       ///< "host:port", "[v6]:port" or ":port"; port 0 chooses a free port
    UniqueFd socket{};               ///< a bound UDP socket to use instead; the transfer closes it
    Credentials credentials;         ///< credentials that the other end accepts
    ConnectionOptions connection{};  ///< settings of the connection
    /// Without a peer the transfer ends with `timeout` after this time.
    Duration peer_within = std::chrono::seconds(60);
    Events events{};  ///< callbacks of the program
};

class TransferState;

/// A transfer over one connection in one direction. Several threads may call its functions at the same time. Only the
/// destructor and the assignment need exclusive access.
class UDTX_EXPORT Transfer {
  public:
    Transfer(Transfer&&) noexcept;             ///< The source may afterwards only be assigned or destroyed.
    Transfer& operator=(Transfer&&) noexcept;  ///< Ends the transfer that this object held, as the destructor does.
    /// Ends a running transfer at once. To the other end this looks like a lost connection. Waits for disk calls in
    /// progress. To end in good order, call cancel() and wait() first.
    ~Transfer();

    /// The progress as one consistent snapshot. Ten calls per second cost little.
    [[nodiscard]] Progress progress() const;
    /// The result. Before done() it is what is known so far.
    [[nodiscard]] Outcome outcome() const;
    /// True if the outcome is final, the connection has ended, and a requested receipt has its final name.
    [[nodiscard]] bool done() const noexcept;
    /// Waits until the transfer is done, but no longer than `at_most`. Returns done().
    bool wait(std::chrono::milliseconds at_most) const;
    /// Waits until the transfer is done.
    Outcome wait() const;
    /// Calls `call` once when the transfer is done: on the thread of the Events, or inside this call if it is already
    /// done. `call` must not destroy the Transfer.
    void when_done(std::function<void()> call);

    /// Ends the transfer in good order. The receiver keeps complete files and reports them. With `resume` the same
    /// transfer can be continued. Returns at once. The connection ends at once after a second call, or after a time
    /// limit: 1.5 s for transfers of start_send() and start_measure(), else 5 s. No effect after the end.
    void cancel(ErrorCode code = ErrorCode::interrupted, const std::string& reason = "cancelled");
    /// The reason why cancel() or ConnectionOptions::patience ended the transfer; nullopt: neither did.
    [[nodiscard]] std::optional<Error> cancelled() const;
    /// True if the transfer was cancelled and a disk call does not return. The destructor would wait for that call.
    [[nodiscard]] bool stuck() const noexcept;

    /// Changes the cap of the sending rate, which includes IP and UDP headers. A receiver asks the sender to keep to
    /// it. May be called before the connection exists. No effect unless the rate is above zero.
    void set_max_rate(Rate rate);
    /// Adds a byte stream to the peer's program, over which the transfer goes if UDP does not pass. Both ends need one.
    /// No effect if it is null or was added before.
    void add_channel(const std::shared_ptr<Channel>& channel);
    /// Sender: assumes that the receiver has nothing of this transfer, so that the sender does not ask before it sends.
    /// If the receiver has files, they are replaced as usual; only some bytes were sent in vain.
    void presume_fresh();
    /// Reports that the program at the other end has probably ended. The connection ends unless the peer responds soon.
    void suspect_peer();

    /// Statistics of the connection and of each path; nullopt before the handshake. They are at most 100 ms old. After
    /// the end they are those of the end.
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    /// Age of stats(); zero after the end.
    [[nodiscard]] Duration stats_age() const;
    /// Time since the end of the handshake; nullopt before that.
    [[nodiscard]] std::optional<Duration> connected_for() const;
    /// Time from the first packet to the end of the handshake; nullopt before that, and on the side that waits.
    [[nodiscard]] std::optional<Duration> handshake_time() const;
    /// True if the connection was established and then lost, if the peer gave up because nothing moved (`timeout`), or
    /// if the server is being stopped (`going_away`). The same transfer continues when it is started again.
    [[nodiscard]] bool lost() const;
    /// Time since the last progress.
    [[nodiscard]] Duration idle() const;
    /// Time from the start to now, or to the end.
    [[nodiscard]] Duration elapsed() const;

    /// Address at which await_sender() or await_receiver() listens.
    [[nodiscard]] Address local_address() const;
    /// True if any datagram has arrived, from any sender.
    [[nodiscard]] bool heard() const noexcept;
    /// Names the setting to raise if the system grants smaller socket buffers than the library requests: one line.
    /// Empty if the buffers are large enough.
    [[nodiscard]] std::string buffer_advice() const;
    /// Processor time of the protocol thread.
    [[nodiscard]] Duration protocol_time() const;
    /// Receiver: time in which its writer was busy.
    [[nodiscard]] Duration writing_time() const;

  private:
    friend class TransferState;
    explicit Transfer(std::unique_ptr<TransferState> state);
    std::unique_ptr<TransferState> state_;
};

/// Resolves the host name, then starts to connect and to send. invalid_argument, file_io: a source or a path cannot be
/// used. network: the host name is unknown, or no socket is available. Later failures are in the Outcome.
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_send(SendRequest request);
/// Resolves the host name, then starts to connect and to fetch. Errors as in start_send().
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_receive(ReceiveRequest request);
/// Calls start_send(), and waits for the end. An error of start_send() becomes the status of the outcome.
[[nodiscard]] UDTX_EXPORT Outcome send(SendRequest request);
/// Calls start_receive(), and waits for the end.
[[nodiscard]] UDTX_EXPORT Outcome receive(ReceiveRequest request);

/// What a sender knows about the sources that the receiver requested, see await_receiver().
struct FoundSources {
    SourceShape shape = SourceShape::several;  ///< shape of the sources; the receiver chooses names by it
    std::vector<FailedFile> missing{};         ///< sources that do not exist, if others do
};
/// Waits for one connection, and sends over it. The receiver has passed its request by other means (pack()).
/// SendOptions::transfer must be the number in its ReceiveOptions.
[[nodiscard]] UDTX_EXPORT Result<Transfer> await_receiver(AwaitRequest request, SendOptions options,
                                                          FoundSources found = {});
/// Waits for one connection, and receives what the peer sends.
[[nodiscard]] UDTX_EXPORT Result<Transfer> await_sender(AwaitRequest request, LandingOptions options);

/// Performs the one-time initialization that the first transfer of a process would do: a few milliseconds of work
/// without a key.
UDTX_EXPORT void prepare();

// Measures a network path: sends bytes for some seconds, which the receiver drops. No file is read or written.

/// What to measure, and for how long.
struct MeasureRequest {
    std::string host{};       ///< name or address of a server
    std::uint16_t port = 0;   ///< its UDP port
    Credentials credentials;  ///< credentials that the server accepts
    /// Duration after the handshake. If twenty round trips are longer, it becomes these, at most 15 s.
    Duration time = std::chrono::seconds(4);
    PeerOptions peer{};  ///< how to reach the server
    Events events{};     ///< callbacks of the program
};

/// Starts a measurement. Read the result from Transfer::stats() and Progress::bytes_sent; no data is delivered. Errors
/// as in start_send().
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_measure(MeasureRequest request);

}  // namespace udtx::transfer

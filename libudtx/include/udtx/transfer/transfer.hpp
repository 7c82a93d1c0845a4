// Sends and fetches trees of files over a connection of its own.
//
//     auto key = udtx::Credentials::from_psk_file("key");
//     auto outcome = udtx::transfer::send({.host = "example.org", .port = 7000, .credentials = *key,
//                                          .options = {.what = {.sources = {"photos"}}, .destination = "backup"}});
//     if (!outcome.status) std::cerr << outcome.status.error().message << '\n';
//
// send() and receive() block until the transfer has ended. start_send() and start_receive() look the host up and return
// a Transfer: the program can watch it, change its rate and cancel it. async.hpp has the same for Boost.Asio.
// server.hpp serves many transfers; await_sender() and await_receiver() wait for one.
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
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/progress.hpp"

/// Transfers of trees of files.
namespace udtx::transfer {

/// What a program is told while a transfer runs. One thread of the transfer calls these functions, one at a time, so
/// they may block. The first calls may come before start_send() has returned. They may call any function of the
/// Transfer but wait() and the destructor. They must not throw.
struct Events {
    ProgressCallback progress{};                               ///< while the transfer runs, and once at its end
    Duration progress_every = std::chrono::milliseconds(500);  ///< least time between two calls; at least 100 ms
    std::function<void(const Outcome&)> done{};                ///< once; Transfer::done() is true by then
    LogSink log{};                                             ///< on the protocol thread, see log.hpp
};

/// Most threads of LinkOptions::threads.
inline constexpr std::size_t kMaxThreads = 16;

/// LinkOptions::patience without a value: long enough for the slowest disk to flush, short enough for nobody to wait
/// until next morning.
inline constexpr Duration kPatience = std::chrono::minutes(10);

/// What the tools give as TransportConfig::max_memory: a quarter of the memory, in bytes, that this process may have,
/// 4 GiB at most. Any thread.
[[nodiscard]] UDTX_EXPORT std::uint64_t default_window_memory();

/// A connection and its limits.
struct LinkOptions {
    TransportConfig transport{};  ///< of the connection
    /// Threads that process packets, the protocol thread included: 1 to kMaxThreads (docs/inside/architecture.md).
    std::size_t threads = 1;
    /// The transfer ends with `timeout` when nothing has moved for this long. Zero: never. nullopt: ten minutes, and
    /// never for a stream that no server takes. TransportConfig::handshake_timeout limits the handshake.
    std::optional<Duration> patience{};
};

/// How to reach a host.
struct DialOptions {
    LinkOptions link{};                         ///< of the connection
    AddressChoice choice = AddressChoice::any;  ///< which addresses of the host to try
    std::vector<Address> addresses{};           ///< to try in turn, in place of the host's; empty: look the host up
    std::vector<PathRequest> paths{};           ///< to use together; empty: one path, as the routes say
    bool skip_absent_paths = false;             ///< leave out paths that this host does not have at present
};

/// What to send, and to whom.
struct SendRequest {
    std::string host{};       ///< name or address of the receiver
    std::uint16_t port = 0;   ///< its UDP port
    Credentials credentials;  ///< that the receiver accepts
    SendOptions options{};    ///< what to send
    DialOptions dial{};       ///< how to reach the receiver
    Events events{};          ///< what the program is told
};

/// What to fetch, and from whom.
struct ReceiveRequest {
    std::string host{};        ///< name or address of the sender
    std::uint16_t port = 0;    ///< its UDP port
    Credentials credentials;   ///< that the sender accepts
    ReceiveOptions options{};  ///< what to fetch
    DialOptions dial{};        ///< how to reach the sender
    Events events{};           ///< what the program is told
};

/// Where to wait for the one connection of a transfer.
struct AwaitRequest {
    std::string listen = ":0";                        ///< "host:port", "[v6]:port" or ":port"; port 0 picks a free one
    UniqueFd socket{};                                ///< a bound UDP socket to use instead, which the transfer closes
    Credentials credentials;                          ///< that the other end accepts
    LinkOptions link{};                               ///< of the connection
    Duration peer_within = std::chrono::seconds(60);  ///< after this time without a peer it ends with `timeout`
    Events events{};                                  ///< what the program is told
};

class TransferState;

/// A transfer under way: one connection, one direction. Several threads may call its functions at once; the destructor
/// and the assignment need it for themselves.
class UDTX_EXPORT Transfer {
  public:
    Transfer(Transfer&&) noexcept;             ///< The source may then only be assigned to or destroyed.
    Transfer& operator=(Transfer&&) noexcept;  ///< The destructor's rules hold for what was here before.
    /// Ends a transfer under way at once: to the other end it looks like a lost connection. Waits for disk calls that
    /// are under way. To end in good order call cancel() and wait() first.
    ~Transfer();

    /// How far it is: one consistent snapshot, cheap enough for ten calls a second.
    [[nodiscard]] Progress progress() const;
    /// What came of it. Before done() it is what is known so far.
    [[nodiscard]] Outcome outcome() const;
    /// The outcome is final, the connection has ended, and a receipt that was asked for has its name.
    [[nodiscard]] bool done() const noexcept;
    /// Waits until it is done, but no longer than `at_most`. Returns done().
    bool wait(std::chrono::milliseconds at_most) const;
    /// Waits until it is done.
    Outcome wait() const;
    /// Calls `call` once when it is done: on the thread of the Events, or within this call if it is done already.
    /// `call` must not destroy the Transfer.
    void when_done(std::function<void()> call);

    /// Ends the transfer in good order: the receiver keeps complete files and reports them, and with `resume` the same
    /// transfer can be continued. Returns at once. When that takes longer than 1.5 s (of start_send() and
    /// start_measure(), else 5 s), or at a second call, the connection ends at once. No effect after the end.
    void cancel(ErrorCode code = ErrorCode::interrupted, const std::string& reason = "cancelled");
    /// Why cancel() or LinkOptions::patience ended it; nullopt: neither did.
    [[nodiscard]] std::optional<Error> cancelled() const;
    /// The transfer was cancelled and a disk call does not return. The destructor would wait for that call.
    [[nodiscard]] bool stuck() const noexcept;

    /// Changes the cap on what is sent, IP and UDP headers included. A receiver asks the sender to keep to it. May be
    /// called before there is a connection. No effect if the rate is not above zero.
    void set_max_rate(Rate rate);
    /// Sender: says that the receiver has nothing of this transfer, so that the sender does not ask before it sends.
    /// Where the receiver has something, it is replaced as usual; only the bytes were sent in vain.
    void presume_fresh();
    /// Says that the program at the other end has probably ended. The connection ends unless the peer answers soon.
    void suspect_peer();

    /// Figures of the connection and of each path; nullopt before the handshake. They are at most 100 ms old, and after
    /// the end those of the end.
    [[nodiscard]] std::optional<ConnectionStats> stats() const;
    /// Age of stats(); zero after the end.
    [[nodiscard]] Duration stats_age() const;
    /// Time since the end of the handshake; nullopt before that.
    [[nodiscard]] std::optional<Duration> connected_for() const;
    /// From the first packet to the end of the handshake; nullopt before that, and on the side that waits.
    [[nodiscard]] std::optional<Duration> handshake_time() const;
    /// The connection was established and then fell silent. The same transfer, started again, continues.
    [[nodiscard]] bool lost() const;
    /// For how long nothing has moved.
    [[nodiscard]] Duration idle() const;
    /// From the start to now, or to the end.
    [[nodiscard]] Duration elapsed() const;

    /// Where await_sender() or await_receiver() listens.
    [[nodiscard]] Address local_address() const;
    /// A datagram has come, from whomever.
    [[nodiscard]] bool heard() const noexcept;
    /// Names the setting to raise where the system grants smaller socket buffers than the library asks for: one line,
    /// else empty.
    [[nodiscard]] std::string buffer_advice() const;
    /// Processor time of the protocol thread.
    [[nodiscard]] Duration protocol_time() const;
    /// Receiver: for how long its writer was at work.
    [[nodiscard]] Duration writing_time() const;

  private:
    friend class TransferState;
    explicit Transfer(std::unique_ptr<TransferState> state);
    std::unique_ptr<TransferState> state_;
};

/// Looks the host up, then starts to dial and to send. invalid_argument, file_io: a source or a path cannot be had;
/// network: the host's name is not known, or there is no socket. Later failures are in the Outcome.
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_send(SendRequest request);
/// Looks the host up, then starts to dial and to fetch. Errors as those of start_send().
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_receive(ReceiveRequest request);
/// start_send(), and waits for the end. An error of start_send() becomes the status of the outcome.
[[nodiscard]] UDTX_EXPORT Outcome send(SendRequest request);
/// start_receive(), and waits for the end.
[[nodiscard]] UDTX_EXPORT Outcome receive(ReceiveRequest request);

/// What a sender has found of the sources that the receiver asked for, see await_receiver().
struct FoundSources {
    SourceShape shape = SourceShape::several;  ///< by it the receiver chooses names
    std::vector<FailedFile> missing{};         ///< sources that are not there, while others are
};
/// Waits for one connection, and sends over it. The receiver has said what it wants by other means (pack()), and
/// SendOptions::transfer is the number in its ReceiveOptions.
[[nodiscard]] UDTX_EXPORT Result<Transfer> await_receiver(AwaitRequest request, SendOptions options,
                                                          FoundSources found = {});
/// Waits for one connection, and takes what comes over it.
[[nodiscard]] UDTX_EXPORT Result<Transfer> await_sender(AwaitRequest request, LandingOptions options);

/// Does beforehand what the first transfer of a process needs: a few milliseconds of work without a key.
UDTX_EXPORT void prepare();

}  // namespace udtx::transfer

// The single connection of a program, whichever side started it. Other threads act on it here and read its statistics,
// also after its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "io/driver.hpp"
#include "io/stream_carrier.hpp"
#include "io/stream_count.hpp"
#include "io/tcp_connect.hpp"
#include "proto/application.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/log.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"

namespace udtx::io {

/// Sits between the driver and the connection's handler. Call begin() once, before the driver runs or on its thread.
/// After that any thread may make the public calls.
class SingleConnection : public proto::ConnectionHandler, public std::enable_shared_from_this<SingleConnection> {
  public:
    using Call = std::function<void(Instant, proto::Connection&)>;

    virtual void begin() = 0;

    /// Runs `what` on the connection on the protocol thread, unless the connection has closed.
    void act(Call what);
    /// The same, and starts no other connection after it.
    void act_last(Call what);
    /// Reports that the program at the other end is said to have ended (proto::Connection::suspect()).
    void suspect_end();
    /// Sets the rate cap, also for a connection that does not exist yet.
    void set_max_rate(Rate rate);
    /// The program has a byte stream to the peer.
    void add_channel(std::shared_ptr<Channel> channel);
    /// nullopt until the connection is established.
    [[nodiscard]] std::optional<Instant> connected_since() const;
    /// True if the established connection was lost: the program may reconnect and continue.
    [[nodiscard]] bool lost() const;
    /// Soon stores the present statistics of a connection that is still open.
    void sample_stats();
    /// The stored statistics: of the connection's end, or of the last sample.
    [[nodiscard]] std::optional<ConnectionStats> kept_stats() const;
    /// When the stored statistics were taken.
    [[nodiscard]] Instant stats_at() const;

    void on_wake(Instant now, proto::Connection& connection) override { handler_->on_wake(now, connection); }
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        handler_->on_piece(id, offset, bytes);
    }
    void on_turn_end() override { handler_->on_turn_end(); }

  protected:
    /// Called before the handler hears of the connection.
    using Connected = std::function<void(proto::Connection&, proto::Waker)>;
    SingleConnection(Driver& driver, std::shared_ptr<proto::ConnectionHandler> handler, Connected connected)
        : driver_(driver), handler_(std::move(handler)), connected_(std::move(connected)) {}

    /// On the protocol thread.
    virtual void take_channel(const Channel& channel) { driver_.carriers().add(ChannelAccess::carrier(channel)); }
    [[nodiscard]] Driver& driver() noexcept { return driver_; }
    [[nodiscard]] proto::ConnectionHandler& handler() noexcept { return *handler_; }
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// Makes `connection` the target of act() until it closes.
    void begun(proto::Connection& connection) noexcept { connection_ = &connection; }
    void note_connected(Instant now, proto::Connection& connection);
    void note_closed(const proto::Connection& connection, const proto::CloseReason& reason);

  private:
    enum class Life : std::uint8_t {
        connecting,  ///< also between two attempts, and after the last one failed
        connected,
        lost,   ///< ended without a word of either program
        ended,  ///< by a program, or by the peer's transport
    };
    static constexpr Step<Life> kLife[] = {
        {Life::connecting, Life::connected}, {Life::connected, Life::lost}, {Life::connected, Life::ended}};

    void keep_stats(const proto::Connection& connection);

    Driver& driver_;
    const std::shared_ptr<proto::ConnectionHandler> handler_;
    const Connected connected_;
    proto::Connection* connection_ = nullptr;  // null once it has closed
    std::optional<Rate> max_rate_;
    bool ending_ = false;

    mutable Mutex mutex_;
    Lifecycle<kLife> life_ GUARDED_BY(mutex_){Life::connecting};
    std::optional<Instant> connected_since_ GUARDED_BY(mutex_);
    std::optional<ConnectionStats> stats_ GUARDED_BY(mutex_);
    Instant stats_at_ GUARDED_BY(mutex_);
};

// Log lines about the paths of a connection.

/// Logs one line if the event is about a path. `whose`: the prefix of each line. `several`: a line about a new address
/// of the peer names the path's number.
void log_paths(const LogSink& log, const std::string& whose, bool several, const proto::Event& event);

// The side that connects. It tries all addresses of a host side by side, or opens several paths of one connection. A
// byte stream, over TCP or the program's channel, is tried if UDP brings no answer, and stands by if UDP does.

/// With several paths it connects over the first that answers, and then opens the others. "Connected" means that the
/// handshake is complete.
class Connector final : public SingleConnection {
  public:
    /// UDP has this long to answer before a byte stream is tried. Byte streams that stand by open after this time.
    static constexpr Duration kUdpFirst = std::chrono::seconds(2);

    struct Setup {
        Driver& driver;
        /// Addresses to try; at least one.
        std::vector<proto::PathAddresses> candidates;
        /// True: `candidates` are paths of one connection. False: they are addresses of one host.
        bool several = false;
        std::string host{};  ///< as the user named it
        CarrierOptions carriers{};
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::function<void(proto::Connection&, proto::Waker)> connected;
        LogSink log;
    };
    explicit Connector(Setup setup);

    void begin() override;
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_refused(Instant now, proto::Connection& connection, const Error& why) override;
    void on_turn_end() override;

  private:
    /// After a byte stream could not be opened, or has ended.
    static constexpr Duration kConnectAgain = std::chrono::seconds(5);
    /// UDP addresses that are tried on while a byte stream carries the data.
    static constexpr std::size_t kMostTried = 3;

    void log(LogLevel level, const std::string& text) const {
        if (log_) log_(level, text);
    }
    void take_channel(const Channel& channel) override;
    [[nodiscard]] bool uses_tcp() const noexcept { return carriers_.tcp && !several_; }
    void connect_tcp(Duration pause);
    void on_tcp_connected(Result<std::unique_ptr<StreamCarrier>> carrier);
    void on_stream_gone(const StreamCarrier& carrier);
    void use_stream(const std::shared_ptr<StreamCarrier>& carrier);
    void open_stream_path(Instant now, proto::Connection& connection);
    /// Opens or closes further TCP connections while they carry the data.
    void count_streams(Instant now, proto::Connection& connection);
    void use_further_stream(std::unique_ptr<StreamCarrier> carrier);
    void close_newest_stream(Instant now, proto::Connection& connection);
    void open_other_paths(Instant now, proto::Connection& connection);
    void open_paths(Instant now, proto::Connection& connection, const std::vector<proto::PathAddresses>& paths);
    void on_connected(Instant now, proto::Connection& connection);
    void on_path_changed(const proto::event::PathChanged& path);

    const std::vector<proto::PathAddresses> candidates_;
    const bool several_;
    const std::string host_;
    const CarrierOptions carriers_;
    const LogSink log_;
    /// The byte stream that is open, as a candidate and as a path.
    std::optional<proto::PathAddresses> stream_;
    /// Further TCP connections beside stream_, the newest last.
    std::vector<std::shared_ptr<StreamCarrier>> further_;
    StreamCount count_;
    std::optional<std::vector<std::uint16_t>> tcp_ports_;  // of the server, once it has told them
    std::optional<Error> no_stream_;                       // why the last attempt to open one failed
    std::optional<Error> refused_;                         // why UDP cannot connect
    Instant begun_{};
    std::unique_ptr<TcpConnector> tcp_connector_;
};

}  // namespace udtx::io

// The side that dials: tries the addresses of a host one after another, or opens several paths of one connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "io/driver.hpp"
#include "proto/application.hpp"
#include "udtx/log.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"

namespace udtx::io {

/// Stands between the driver and the handler of the connection, and keeps the statistics. Where there are several
/// paths, the connection is dialled over the first that answers, and the others are opened then. The handler hears
/// nothing of attempts that failed while there was another address to try.
///
/// begin() once, before the driver runs or on its thread; the calls after it on any thread.
class Dial final : public proto::ConnectionHandler, public std::enable_shared_from_this<Dial> {
  public:
    struct Setup {
        Driver& driver;
        /// Tried in turn; at least one.
        std::vector<proto::PathAddresses> ways;
        /// They are paths of one connection, else addresses of one host.
        bool several = false;
        std::shared_ptr<proto::ConnectionHandler> handler;
        /// The handshake has finished: before the handler hears of that.
        std::function<void(proto::Connection&, proto::Waker)> connected;
        LogSink log;
    };
    using Call = std::function<void(Instant, proto::Connection&)>;

    explicit Dial(Setup setup) : setup_(std::move(setup)) {}

    void begin();

    /// Has this done to the connection on the protocol thread, unless it has closed.
    void act(Call what);
    /// The same, and no other address is tried any more.
    void act_last(Call what);
    /// The program that we dialled is said to have ended (proto::Connection::suspect()).
    void suspect_end();
    /// The cap from now on, also of connections that are still to come.
    void set_max_rate(Rate rate);
    /// Since when the other paths are asked for; none before the handshake has finished.
    [[nodiscard]] std::optional<Instant> connected_since() const;
    /// It was connected, and fell silent.
    [[nodiscard]] bool lost() const;
    /// Has the statistics of a connection that is not closed yet kept, soon.
    void sample_stats();
    /// Of the connection at its end, or when last sampled.
    [[nodiscard]] std::optional<ConnectionStats> kept_stats() const;
    /// When those were taken.
    [[nodiscard]] Instant stats_at() const;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override { setup_.handler->on_wake(now, connection); }
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        setup_.handler->on_placed(id, offset, bytes);
    }

  private:
    void log(LogLevel level, const std::string& text) const {
        if (setup_.log) setup_.log(level, text);
    }
    void dial_next();
    void open_other_paths(Instant now, proto::Connection& connection);
    void on_connected(Instant now, proto::Connection& connection);
    /// False: the end is to be told, as `reason` says by then.
    [[nodiscard]] bool tries_another(proto::CloseReason& reason);
    void tell(const proto::event::PathChanged& path) const;
    void keep_stats(const proto::Connection& connection);

    Setup setup_;
    std::size_t next_ = 0;
    std::shared_ptr<proto::Connection> connection_;  // until it has closed
    std::optional<Rate> max_rate_;
    bool ending_ = false;
    std::optional<proto::CloseReason> failed_beyond_;  // of an address that this host has a route to

    mutable std::mutex mutex_;  // guards what follows
    std::optional<Instant> connected_since_;
    bool lost_ = false;
    std::optional<ConnectionStats> stats_;
    Instant stats_at_{};
};

}  // namespace udtx::io

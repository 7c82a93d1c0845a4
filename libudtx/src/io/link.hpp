// The one connection that a program is after, whichever side began it: what is done to it from other threads, and its
// statistics, also after its end.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "io/driver.hpp"
#include "proto/application.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"

namespace udtx::io {

/// Stands between the driver and the handler of the connection. begin() once, before the driver runs or on its thread;
/// the public calls after it on any thread.
class Link : public proto::ConnectionHandler, public std::enable_shared_from_this<Link> {
  public:
    using Call = std::function<void(Instant, proto::Connection&)>;

    virtual void begin() = 0;

    /// Has this done to the connection on the protocol thread, unless it has closed.
    void act(Call what);
    /// The same, and no other connection is begun any more.
    void act_last(Call what);
    /// The program at the other end is said to have ended (proto::Connection::suspect()).
    void suspect_end();
    /// The cap from now on, also of a connection that is still to come.
    void set_max_rate(Rate rate);
    /// None before there is a connection to speak of.
    [[nodiscard]] std::optional<Instant> connected_since() const;
    /// It was connected, and fell silent: dialling again may continue.
    [[nodiscard]] virtual bool lost() const { return false; }
    /// Has the statistics of a connection that is not closed yet kept, soon.
    void sample_stats();
    /// Of the connection at its end, or when last sampled.
    [[nodiscard]] std::optional<ConnectionStats> kept_stats() const;
    /// When those were taken.
    [[nodiscard]] Instant stats_at() const;

    void on_wake(Instant now, proto::Connection& connection) override { handler_->on_wake(now, connection); }
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        handler_->on_placed(id, offset, bytes);
    }
    void on_turn_end() override { handler_->on_turn_end(); }

  protected:
    /// Told before the handler hears of the connection.
    using Connected = std::function<void(proto::Connection&, proto::Waker)>;
    Link(Driver& driver, std::shared_ptr<proto::ConnectionHandler> handler, Connected connected)
        : driver_(driver), handler_(std::move(handler)), connected_(std::move(connected)) {}

    [[nodiscard]] Driver& driver() noexcept { return driver_; }
    [[nodiscard]] proto::ConnectionHandler& handler() noexcept { return *handler_; }
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// What act() is about from now on, until it has closed.
    void begun(proto::Connection& connection) noexcept { connection_ = &connection; }
    void note_connected(Instant now, proto::Connection& connection);
    void note_closed(const proto::Connection& connection);

  private:
    void keep_stats(const proto::Connection& connection);

    Driver& driver_;
    const std::shared_ptr<proto::ConnectionHandler> handler_;
    const Connected connected_;
    proto::Connection* connection_ = nullptr;  // until it has closed
    std::optional<Rate> max_rate_;
    bool ending_ = false;

    mutable std::mutex mutex_;  // guards what follows
    std::optional<Instant> connected_since_;
    std::optional<ConnectionStats> stats_;
    Instant stats_at_{};
};

}  // namespace udtx::io

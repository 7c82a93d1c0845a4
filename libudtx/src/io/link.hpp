// The single connection of a program, whichever side started it. Other threads act on it here and read its statistics,
// also after its end.
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

/// Sits between the driver and the connection's handler. Call begin() once, before the driver runs or on its thread.
/// After that any thread may make the public calls.
class Link : public proto::ConnectionHandler, public std::enable_shared_from_this<Link> {
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
    /// nullopt until the connection is established.
    [[nodiscard]] std::optional<Instant> connected_since() const;
    /// True if the established connection was lost: the program may reconnect and continue.
    [[nodiscard]] virtual bool lost() const { return false; }
    /// Soon stores the present statistics of a connection that is still open.
    void sample_stats();
    /// The stored statistics: of the connection's end, or of the last sample.
    [[nodiscard]] std::optional<ConnectionStats> kept_stats() const;
    /// When the stored statistics were taken.
    [[nodiscard]] Instant stats_at() const;

    void on_wake(Instant now, proto::Connection& connection) override { handler_->on_wake(now, connection); }
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        handler_->on_placed(id, offset, bytes);
    }
    void on_turn_end() override { handler_->on_turn_end(); }

  protected:
    /// Called before the handler hears of the connection.
    using Connected = std::function<void(proto::Connection&, proto::Waker)>;
    Link(Driver& driver, std::shared_ptr<proto::ConnectionHandler> handler, Connected connected)
        : driver_(driver), handler_(std::move(handler)), connected_(std::move(connected)) {}

    [[nodiscard]] Driver& driver() noexcept { return driver_; }
    [[nodiscard]] proto::ConnectionHandler& handler() noexcept { return *handler_; }
    [[nodiscard]] bool ending() const noexcept { return ending_; }
    /// True if an established connection ended without a word of either program.
    [[nodiscard]] static bool is_loss(const proto::CloseReason& reason) noexcept;
    /// Makes `connection` the target of act() until it closes.
    void begun(proto::Connection& connection) noexcept { connection_ = &connection; }
    void note_connected(Instant now, proto::Connection& connection);
    void note_closed(const proto::Connection& connection);

  private:
    void keep_stats(const proto::Connection& connection);

    Driver& driver_;
    const std::shared_ptr<proto::ConnectionHandler> handler_;
    const Connected connected_;
    proto::Connection* connection_ = nullptr;  // null once it has closed
    std::optional<Rate> max_rate_;
    bool ending_ = false;

    mutable std::mutex mutex_;  // guards the members below
    std::optional<Instant> connected_since_;
    std::optional<ConnectionStats> stats_;
    Instant stats_at_{};
};

}  // namespace udtx::io

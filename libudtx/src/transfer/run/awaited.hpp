// The side that waits for one connection: takes the first that comes, and keeps its statistics. As io::Dial, whose
// calls it has, for the side that is dialled.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "io/driver.hpp"
#include "proto/application.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"

namespace udtx::transfer {

class Awaited final : public proto::ConnectionHandler, public std::enable_shared_from_this<Awaited> {
  public:
    struct Setup {
        io::Driver& driver;
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::function<void(proto::Connection&, proto::Waker)> connected;  ///< before the handler hears of anything
    };
    using Call = std::function<void(Instant, proto::Connection&)>;

    explicit Awaited(Setup setup) : setup_(std::move(setup)) {}

    /// Before the driver runs.
    void begin();

    // --- any thread
    /// From now on nobody is taken. False: somebody has been.
    [[nodiscard]] bool close_door() noexcept { return !taken_.exchange(true); }
    [[nodiscard]] bool taken() const noexcept { return taken_; }
    void act(Call what);
    void act_last(Call what) { act(std::move(what)); }
    void suspect_end();
    void set_max_rate(Rate rate);
    [[nodiscard]] std::optional<Instant> connected_since() const;
    /// Nobody here dials again.
    [[nodiscard]] static bool lost() noexcept { return false; }
    void sample_stats();
    [[nodiscard]] std::optional<ConnectionStats> kept_stats() const;
    [[nodiscard]] Instant stats_at() const;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override { setup_.handler->on_wake(now, connection); }
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        setup_.handler->on_placed(id, offset, bytes);
    }

  private:
    std::shared_ptr<proto::ConnectionHandler> take(proto::Connection& connection);
    void keep_stats(const proto::Connection& connection);

    Setup setup_;
    std::atomic<bool> taken_{false};
    proto::Connection* connection_ = nullptr;  // until it has closed; protocol thread
    std::optional<Rate> max_rate_;

    mutable std::mutex mutex_;  // guards what follows
    std::optional<Instant> connected_since_;
    std::optional<ConnectionStats> stats_;
    Instant stats_at_{};
};

}  // namespace udtx::transfer

// The side that waits for one connection: it takes the first one. A second one means that the peer gave up the first.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/link.hpp"
#include "proto/application.hpp"
#include "udtx/log.hpp"

namespace udtx::transfer {

/// Connected here means: a peer has arrived, and its handshake is in progress.
class Awaited final : public io::Link {
  public:
    struct Setup {
        io::Driver& driver;
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::function<void(proto::Connection&, proto::Waker)> connected;
        LogSink log;  ///< for path events
    };
    explicit Awaited(Setup setup)
        : Link(setup.driver, std::move(setup.handler), std::move(setup.connected)), log_(std::move(setup.log)) {}

    void begin() override;
    /// From now on no peer is taken. False: one has been taken. Any thread; the same holds for taken().
    [[nodiscard]] bool close_door() noexcept { return !taken_.exchange(true); }
    [[nodiscard]] bool taken() const noexcept { return taken_; }
    /// Why no peer can come any more; nullopt: one can. Any thread.
    [[nodiscard]] std::optional<Error> failed() const;
    [[nodiscard]] bool lost() const override { return lost_; }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;

  private:
    std::shared_ptr<proto::ConnectionHandler> take(proto::Connection& connection);

    const LogSink log_;
    std::atomic<bool> taken_{false};
    mutable std::mutex failing_;  // guards failed_
    std::optional<Error> failed_;
    std::atomic<bool> lost_{false};
};

}  // namespace udtx::transfer

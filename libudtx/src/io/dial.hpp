// The side that dials: tries the addresses of a host one after another, or opens several paths of one connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/driver.hpp"
#include "io/link.hpp"
#include "proto/application.hpp"
#include "udtx/log.hpp"

namespace udtx::io {

/// Where there are several paths, the connection is dialled over the first that answers, and the others are opened
/// then. The handler hears nothing of attempts that failed while there was another address to try. Connected: the
/// handshake has finished.
class Dial final : public Link {
  public:
    struct Setup {
        Driver& driver;
        /// Tried in turn; at least one.
        std::vector<proto::PathAddresses> ways;
        /// They are paths of one connection, else addresses of one host.
        bool several = false;
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::function<void(proto::Connection&, proto::Waker)> connected;
        LogSink log;
    };
    explicit Dial(Setup setup)
        : Link(setup.driver, std::move(setup.handler), std::move(setup.connected)),
          ways_(std::move(setup.ways)),
          several_(setup.several),
          log_(std::move(setup.log)) {}

    void begin() override { dial_next(); }
    [[nodiscard]] bool lost() const override { return lost_; }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;

  private:
    void log(LogLevel level, const std::string& text) const {
        if (log_) log_(level, text);
    }
    void dial_next();
    void open_other_paths(Instant now, proto::Connection& connection);
    void on_connected(Instant now, proto::Connection& connection);
    /// False: the end is to be told, as `reason` says by then.
    [[nodiscard]] bool tries_another(proto::CloseReason& reason);

    const std::vector<proto::PathAddresses> ways_;
    const bool several_;
    const LogSink log_;
    std::size_t next_ = 0;
    std::optional<proto::CloseReason> failed_beyond_;  // of an address that this host has a route to
    std::atomic<bool> lost_{false};
};

}  // namespace udtx::io

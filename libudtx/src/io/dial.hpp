// The side that connects. It tries the addresses of a host one after another, or opens several paths of one connection.
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
#include "udtx/address.hpp"
#include "udtx/log.hpp"

namespace udtx::io {

/// With several paths it connects over the first that answers, and then opens the others. The handler hears of a failed
/// attempt only if no other address is left. "Connected" means that the handshake is complete.
class Dial final : public Link {
  public:
    struct Setup {
        Driver& driver;
        /// Addresses to try in turn; at least one.
        std::vector<proto::PathAddresses> ways;
        /// True: `ways` are paths of one connection. False: they are addresses of one host.
        bool several = false;
        /// If `several` is false: the ways to these addresses come last, and are tried together.
        std::vector<Address> also{};
        std::shared_ptr<proto::ConnectionHandler> handler;
        std::function<void(proto::Connection&, proto::Waker)> connected;
        LogSink log;
    };
    explicit Dial(Setup setup)
        : Link(setup.driver, std::move(setup.handler), std::move(setup.connected)),
          ways_(std::move(setup.ways)),
          several_(setup.several),
          also_(std::move(setup.also)),
          log_(std::move(setup.log)) {}

    void begin() override { dial_next(); }
    [[nodiscard]] bool lost() const override { return lost_; }

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;

  private:
    void log(LogLevel level, const std::string& text) const {
        if (log_) log_(level, text);
    }
    void dial_next();
    /// True if the next attempt is the last, over all ways that are left.
    [[nodiscard]] bool rest_together() const;
    void open_other_paths(Instant now, proto::Connection& connection);
    void on_connected(Instant now, proto::Connection& connection);
    /// Starts the next attempt if one is left. False: report the end with `reason`, which this call may have replaced.
    [[nodiscard]] bool tries_another(proto::CloseReason& reason);

    const std::vector<proto::PathAddresses> ways_;
    const bool several_;
    const std::vector<Address> also_;
    const LogSink log_;
    std::size_t next_ = 0;
    bool together_ = false;  // the attempt is over the ways to also_
    // The failure of an address to which this host has a route.
    std::optional<proto::CloseReason> failed_beyond_;
    std::atomic<bool> lost_{false};
};

}  // namespace udtx::io

// A relay: two ends behind NATs find each other at it, and it forwards their datagrams if nothing better is possible.
// It cannot read what it forwards.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rendezvous/relay_core.hpp"
#include "rendezvous/relay_limits.hpp"
#include "udtx/address.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Listens on one UDP and one TCP port of the same number, on a thread of its own.
class Relay {
  public:
    struct Options {
        HostPort listen{.host = "", .port = kDefaultRelayPort};  ///< port 0: a free one
        RelayBudget budget{};
        std::function<void(const std::string& line)> report{};  ///< on the relay's thread
    };
    /// network: the port is in use, or this host does not have the address.
    [[nodiscard]] static Result<std::unique_ptr<Relay>> start(Options options);
    /// Tells the ends that the relay stops.
    virtual ~Relay() = default;
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    [[nodiscard]] virtual const Address& address() const noexcept = 0;
    /// Stops, and returns what the relay has done.
    virtual RelayCounters stop() = 0;

  protected:
    Relay() = default;
};

}  // namespace udtx::apps

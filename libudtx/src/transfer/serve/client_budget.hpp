// What one client may take of a server, so that the others are served all the same (ServerLimits).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transfer/serve/served_state.hpp"
#include "udtx/address.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::transfer {

/// Any thread.
class ClientBudget {
  public:
    /// Most connections of all together, whatever the descriptors.
    static constexpr std::size_t kConnections = 1000;
    /// A quarter: three who take all they can leave room for a fourth.
    static constexpr std::size_t kConnectionsOfOne = kConnections / 4;

    explicit ClientBudget(const ServerLimits& limits) : limits_(limits) {}

    /// A number for whose budget a connection from there is on. `identity`: that of its key; 0: all have the one.
    [[nodiscard]] static std::uint64_t owner(const Address& remote, std::uint64_t identity);

    using Connections = std::vector<std::shared_ptr<ServedState>>;
    /// Whether one more of this owner comes in; one that stands idle may have to give way for it. refused: the owner
    /// has as many as one may have; network: the server is full.
    [[nodiscard]] Result<void> admit(const Connections& connections, std::uint64_t owner) const;
    /// Of an owner whose connections hold more than they may those that hold most give way, as many as it takes.
    void enforce(const Connections& connections) const;

  private:
    [[nodiscard]] std::size_t connections_of_all() const;
    [[nodiscard]] std::size_t connections_of_one() const;
    [[nodiscard]] std::uint64_t held_by_one() const;

    const ServerLimits limits_;
};

}  // namespace udtx::transfer

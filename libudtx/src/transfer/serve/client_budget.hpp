// What one client may use of a server, and the memory that there is for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transfer/serve/served_state.hpp"
#include "udtx/address.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::transfer {

// The memory limit of a container or a service.

/// The lowest memory limit of this process's control group (cgroup, version 1 or 2) and the groups above it;
/// UINT64_MAX: no limit. `table`: the groups of a process; `root`: the directory of their limits.
[[nodiscard]] std::uint64_t memory_of_groups(const std::string& table = "/proc/self/cgroup",
                                             const std::string& root = "/sys/fs/cgroup");

// The memory that this process may use.

/// Bytes: the machine's memory, reduced by control groups and process limits.
[[nodiscard]] std::uint64_t memory_of_process();

// What one client may use of a server, so that the server can serve the others as well (ServerLimits).

/// Any thread.
class ClientBudget {
  public:
    /// Most connections of all clients together, however many descriptors there are.
    static constexpr std::size_t kConnections = 1000;
    /// A quarter: three clients that take their maximum leave room for a fourth.
    static constexpr std::size_t kConnectionsOfOne = kConnections / 4;

    explicit ClientBudget(const ServerLimits& limits) : limits_(limits) {}

    /// Number of the owner whose budget a connection from `remote` uses. `identity` is that of the client's key; 0: all
    /// clients share one key.
    [[nodiscard]] static std::uint64_t owner(const Address& remote, std::uint64_t identity);

    using Connections = std::vector<std::shared_ptr<ServedState>>;
    /// Decides whether one more connection of this owner is accepted. An idle connection may have to give way for it.
    /// refused: the owner has reached its maximum; network: the server is full.
    [[nodiscard]] Result<void> admit(const Connections& connections, std::uint64_t owner) const;
    /// If an owner's connections hold more memory than allowed, those that hold most give way, as many as necessary.
    void enforce(const Connections& connections) const;

  private:
    /// The program's limits, or the defaults where it has none.
    [[nodiscard]] ServerLimits limits() const;

    const ServerLimits limits_;
};

}  // namespace udtx::transfer

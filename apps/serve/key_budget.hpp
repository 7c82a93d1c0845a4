// What one key may take of a server, so that the others are served all the same. Where all have the one pre-shared key
// it is one host instead of one key: an address, with IPv6 a /64 unless it is link-local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "serve/served_connection.hpp"
#include "udtx/address.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class KeyBudget {
  public:
    static constexpr std::size_t kConnections = 1000;  ///< of all together
    /// A quarter: three who take all they can leave room for a fourth.
    static constexpr std::size_t kConnectionsOfOne = kConnections / 4;
    /// The same where there are fewer descriptors than they need: of all together, and a quarter, of one.
    [[nodiscard]] static std::size_t connections();
    [[nodiscard]] static std::size_t connections_of_one();
    /// Bytes that one makes the server hold, over all of its connections: a quarter of what the process may have (the
    /// machine's memory, RLIMIT_AS, RLIMIT_DATA), and room for the largest single transfer, whose own bounds add up to
    /// some 450 MiB (docs/transfer-protocol.md).
    [[nodiscard]] static std::uint64_t held_by_one();

    /// A number for whose budget a connection from there is on. `key`: that of its key; 0: all have the one.
    [[nodiscard]] static std::uint64_t owner(const Address& remote, std::uint64_t key);

    using Connections = std::vector<std::shared_ptr<ServedConnection>>;
    /// Whether one more of this owner comes in; one that stands idle may have to give way for it. refused: the owner
    /// has as many as one may have; network: the server is full. Any thread.
    [[nodiscard]] static Result<void> admit(const Connections& all, std::uint64_t owner);
    /// Of an owner whose connections hold more than they may those that hold most give way, as many as it takes. Any
    /// thread.
    static void enforce(const Connections& all);
};

}  // namespace udtx::apps

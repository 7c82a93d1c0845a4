// What a running transfer says of itself to whoever lists them: who, which end, which files, from where to where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/observer.hpp"

namespace udtx::apps {

/// Of this process; its number where it has no name.
[[nodiscard]] std::string user_name();

struct TransferCard {
    std::string program;  ///< "udtx-send"
    std::string role;     ///< "sender" or "receiver" of one transfer; "server" of those who come
    /// UDP: where it listens, or whom it dials; 0: that of the peer, which is not known yet.
    std::uint16_t port = 0;
    std::vector<std::string> sources{};  ///< a server's are its clients' affair
    std::string destination{};
    std::string user = user_name();  ///< looked up before a sandbox cuts off the service that knows
};

/// One of those that a server has.
struct ServedTransfer {
    std::string who;        ///< its peer, with the name of its key
    std::string directory;  ///< below which it lands, or from which it is taken; empty: standard output
    Observation seen;
};

/// Paths count from where the tool was started: for others they are absolute. "-", URLs and names of hosts stay.
[[nodiscard]] std::string seen_from_elsewhere(const std::string& path);

/// What progress_json() says of `seen`, with the card's fields behind. `served`: of a server.
[[nodiscard]] std::string status_json(const TransferCard& card, const Observation& seen,
                                      const std::vector<ServedTransfer>& served = {});
/// The same for people. The first line, and one for each that is served; a tab between two.
[[nodiscard]] std::string status_lines(const TransferCard& card, const Observation& seen,
                                       const std::vector<ServedTransfer>& served = {});

}  // namespace udtx::apps

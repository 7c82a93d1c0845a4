// The description that a running transfer gives to clients that list transfers: user, end, files, source and
// destination.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/observer.hpp"

namespace udtx::apps {

/// Name of this process's user; the user's number if it has no name.
[[nodiscard]] std::string user_name();

struct TransferCard {
    std::string program;  ///< "udtx-send"
    std::string role;     ///< "sender" or "receiver" of one transfer; "server" for a process that serves several
    /// UDP port where this process listens or to which it connects; 0: the peer's port, still unknown.
    std::uint16_t port = 0;
    std::vector<std::string> sources{};  ///< empty for a server: its clients choose them
    std::string destination{};
    std::string user = user_name();  ///< looked up before a sandbox cuts off the name service
};

/// One transfer of a server.
struct ServedTransfer {
    std::string who;        ///< the peer, with the name of its key
    std::string directory;  ///< directory below which files are stored or read; empty: standard output
    Observation seen;
};

/// Makes a relative path absolute, because other processes have another working directory. Keeps "-", URLs and host
/// names.
[[nodiscard]] std::string seen_from_elsewhere(const std::string& path);

/// The fields of progress_json() for `seen`, then those of the card. `served`: the transfers of a server.
[[nodiscard]] std::string status_json(const TransferCard& card, const Observation& seen,
                                      const std::vector<ServedTransfer>& served = {});
/// The same for users: one line, and one more for each served transfer. A tab separates lines.
[[nodiscard]] std::string status_lines(const TransferCard& card, const Observation& seen,
                                       const std::vector<ServedTransfer>& served = {});

}  // namespace udtx::apps

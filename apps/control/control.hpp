// A running transfer as other programs of its user see it: over a local HTTP socket, which `ctl` of both tools asks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "control/rate_governor.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "udtx/result.hpp"

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

/// A process as `ctl` shows it.
struct Described {
    TransferCard card;
    Observation seen{};
    std::vector<ServedTransfer> served{};  ///< the transfers of a server
};
/// The fields of progress_json() for what was seen, then those of the card.
[[nodiscard]] std::string status_json(const Described& process);
/// The same for users: one line, and one more for each served transfer.
[[nodiscard]] std::string status_lines(const Described& process);

/// Opens PID.sock in the runtime directory. A request is POST with one of these lines: "rate 100M", "rate off",
/// "rate auto", "status", "describe". `rates` must outlive the server. Null: this side does not control the cap. If it
/// cannot be opened, it is null, and `log`, if there is one, gets a line: a transfer continues without it.
[[nodiscard]] std::unique_ptr<HttpServer> open_control(RateGovernor* rates, Log* log,
                                                       std::function<Described()> describe);

/// Process numbers of this user's running transfers. Removes sockets that killed processes left behind.
[[nodiscard]] Result<std::vector<std::string>> running_transfers();
/// `target` is a process number or the path of a socket. Returns the answer, or the error that the process sent.
[[nodiscard]] Result<std::string> ask_control(const std::string& target, const std::string& line);

/// Runs `TOOL ctl PID|SOCKET COMMAND...`. `arguments`: those after "ctl".
[[nodiscard]] ExitCode run_ctl(Log& log, const std::string& tool, std::vector<std::string> arguments);

}  // namespace udtx::apps

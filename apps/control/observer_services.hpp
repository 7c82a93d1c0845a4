// The description that a running transfer gives to clients that list transfers: user, end, files, source and
// destination.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "control/control_socket.hpp"
#include "control/rate_governor.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

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

// Services that follow from a run's flags, for the side that connects and for servers: metrics, JSON stream, control
// socket, caps.

/// The cap from now on. Warns once in the log if the host's rate cannot be shared.
[[nodiscard]] Rate cap_now(Log& log, RateGovernor& rates, Instant now, bool active);
[[nodiscard]] RateGovernor::Settings governor_settings(const CommonOptions& options, Rate base);
/// Serves metrics if the user asked for them, and logs the address; null if not.
[[nodiscard]] Result<std::unique_ptr<HttpServer>> serve_metrics(const CommonOptions& options, Log& log,
                                                                std::function<std::string()> page);
/// The transfer continues without a control socket; the reason is then logged with -v. Returns null in this case.
[[nodiscard]] std::unique_ptr<ControlSocket> open_control(Log& log, ControlSocket::Handler handler);

/// Prints one object a second with `print`, for example to standard output.
class JsonTicker {
  public:
    using Print = std::function<void(const std::string& line)>;
    explicit JsonTicker(Print print) : print_(std::move(print)) {}
    void tick(Duration at, const Observation& seen);

  private:
    Print print_;
    std::optional<Duration> last_;
};

}  // namespace udtx::apps

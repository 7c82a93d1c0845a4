// Services that follow from a run's flags, for the side that connects and for servers: metrics, JSON stream, control
// socket, caps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

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

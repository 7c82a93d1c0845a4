// What of observing and steering a run follows from its flags, for whoever dials and whoever serves: metrics, JSON
// stream, control socket, caps.
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

/// The cap from now on; says once in the log where the host's rate cannot be shared.
[[nodiscard]] Rate cap_now(Log& log, RateGovernor& rates, Instant now, bool active);
[[nodiscard]] RateGovernor::Settings governor_settings(const CommonOptions& options, Rate base);
/// Serves metrics where the user asked for them; null where not. Says so in the log.
[[nodiscard]] Result<std::unique_ptr<HttpServer>> serve_metrics(const CommonOptions& options, Log& log,
                                                                std::function<std::string()> page);
/// A transfer that cannot be controlled is still one: says why in the log, with -v.
[[nodiscard]] std::unique_ptr<ControlSocket> open_control(Log& log, ControlSocket::Handler handler);

/// Prints an object a second to standard output, or wherever `print` puts it.
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

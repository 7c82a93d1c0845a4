// All who watch one transfer, and who may change its cap: JSON stream, metrics, control socket, schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/common_options.hpp"
#include "common/control_socket.hpp"
#include "common/http_server.hpp"
#include "common/log.hpp"
#include "common/observer.hpp"
#include "common/rate_governor.hpp"
#include "page/live_page.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

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

/// Of a transfer that this side dialled. One thread, but for what the servers ask.
class TransferWatch {
  public:
    /// Which transfer.
    struct Subject {
        DataEnd end;
        std::string peer;
        bool streaming = false;
    };
    /// `print`: where the JSON stream goes.
    static Result<std::unique_ptr<TransferWatch>> start(const CommonOptions& options, Log& log, Subject subject,
                                                        JsonTicker::Print print);

    /// The cap to begin with.
    [[nodiscard]] Rate first_cap(Instant now);
    /// A sender's cap, if it is another one than at the last call.
    [[nodiscard]] std::optional<Rate> new_cap(Instant now);
    void look(Glance glance);
    /// When all is over and has been looked at: writes the report, and tells those who watch the page if there is not
    /// to be another connection, whose page they are to see.
    void finish(FinalReport& report, bool last);
    [[nodiscard]] Observation latest() const { return observer_.latest(); }

  private:
    TransferWatch(const CommonOptions& options, Subject subject);
    [[nodiscard]] ControlSocket::Handler control();

    DataEnd end_;

    Observer observer_;
    RateGovernor rates_;
    Rate cap_ = Rate::infinite();
    std::optional<JsonTicker> json_;
    std::unique_ptr<LivePage> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<ControlSocket> control_;
};

}  // namespace udtx::apps

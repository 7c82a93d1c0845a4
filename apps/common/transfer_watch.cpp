#include "common/transfer_watch.hpp"

#include <unistd.h>

#include <utility>

#include "common/control_commands.hpp"
#include "common/descriptors.hpp"
#include "common/prometheus.hpp"

namespace udtx::apps {
namespace {
constexpr Duration kJsonInterval = std::chrono::seconds(1);
}  // namespace

RateGovernor::Settings governor_settings(const CommonOptions& options, Rate base) {
    return {base, options.rates.schedule, options.rates.host_rate, options.policy == Policy::fixed};
}

Result<std::unique_ptr<HttpServer>> serve_metrics(const CommonOptions& options, Log& log,
                                                  std::function<std::string()> page) {
    if (!options.observing.metrics) return std::unique_ptr<HttpServer>();
    auto server = HttpServer::start(*options.observing.metrics, [page = std::move(page)](const std::string& target) {
        if (target == "/metrics" || target == "/") return HttpReply{200, kMetricsType, page()};
        return HttpReply{404, "text/plain; charset=utf-8", "there is /metrics\n"};
    });
    if (!server) return Error{server.error().code, "--metrics: " + server.error().message};
    log.info("metrics on http://" + (*server)->address() + "/metrics");
    return server;
}

std::unique_ptr<ControlSocket> open_control(Log& log, ControlSocket::Handler handler) {
    auto socket = ControlSocket::open(std::move(handler));
    if (socket) return std::move(*socket);
    log.detail("no control socket: " + socket.error().message);
    return nullptr;
}

void JsonTicker::tick(Duration at, const Observation& seen) {
    if (last_ && at - *last_ < kJsonInterval) return;
    last_ = last_ ? *last_ + kJsonInterval : at;
    if (at - *last_ >= kJsonInterval) last_ = at;
    print_(progress_json(seen));
}

TransferWatch::TransferWatch(const CommonOptions& options, std::string peer, bool streaming)
    : observer_(DataEnd::sender, streaming, std::move(peer)), rates_(governor_settings(options, options.rate)) {}

Result<std::unique_ptr<TransferWatch>> TransferWatch::start(const CommonOptions& options, Log& log, std::string peer,
                                                            bool streaming) {
    std::unique_ptr<TransferWatch> watch(new TransferWatch(options, std::move(peer), streaming));
    TransferWatch& self = *watch;
    auto metrics = serve_metrics(options, log, [&self] {
        return metrics_text({.role = "sender", .version = UDTX_VERSION, .transfers = {self.latest()}});
    });
    if (!metrics) return metrics.error();
    self.metrics_ = std::move(*metrics);
    self.control_ = open_control(log, control_handler(self.rates_, [&self] { return progress_json(self.latest()); }));
    if (options.observing.json_stream) {
        // That it cannot be written is told by the last object.
        self.json_.emplace([](const std::string& line) { (void)write_all(STDOUT_FILENO, line + "\n"); });
    }
    return watch;
}

Rate TransferWatch::first_cap(Instant now) { return cap_ = rates_.update(now, true); }

std::optional<Rate> TransferWatch::new_cap(Instant now) {
    const Rate cap = rates_.update(now, true);
    if (cap == cap_) return std::nullopt;
    return cap_ = cap;
}

void TransferWatch::look(Glance glance) {
    glance.cap = cap_;
    observer_.look(glance);
    if (json_) json_->tick(glance.at, observer_.latest());
}

}  // namespace udtx::apps

#include "control/observer_services.hpp"

#include <utility>

#include "observe/prometheus.hpp"

namespace udtx::apps {
namespace {
constexpr Duration kJsonInterval = std::chrono::seconds(1);
}  // namespace

RateGovernor::Settings governor_settings(const CommonOptions& options, Rate base) {
    return {base, options.rates.schedule, options.rates.host_rate, options.policy == Policy::fixed};
}

Rate cap_now(Log& log, RateGovernor& rates, Instant now, bool active) {
    const Rate cap = rates.update(now, active);
    if (const auto trouble = rates.take_trouble()) log.warn("the rate of --host-rate is not shared: " + *trouble);
    return cap;
}

Result<std::unique_ptr<HttpServer>> serve_metrics(const CommonOptions& options, Log& log,
                                                  std::function<std::string()> page) {
    if (!options.observing.metrics) return std::unique_ptr<HttpServer>();
    auto server = HttpServer::start(*options.observing.metrics, [page = std::move(page)](const HttpRequest& request) {
        if (request.target == "/metrics" || request.target == "/") return HttpReply{200, kMetricsType, page()};
        return HttpReply{404, "text/plain; charset=utf-8", "use /metrics\n"};
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

}  // namespace udtx::apps

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
    auto server = HttpServer::start(*options.observing.metrics, [page = std::move(page)](const HttpRequest& request) {
        if (request.target == "/metrics" || request.target == "/") return HttpReply{200, kMetricsType, page()};
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

TransferWatch::TransferWatch(const CommonOptions& options, Subject subject)
    : end_(subject.end),
      observer_(subject.end, subject.streaming, std::move(subject.peer)),
      rates_(governor_settings(options, options.rate)) {}

Result<std::unique_ptr<TransferWatch>> TransferWatch::start(const CommonOptions& options, Log& log, Subject subject,
                                                            JsonTicker::Print print) {
    const bool sends = subject.end == DataEnd::sender;
    const std::string where = (sends ? "to " : "from ") + subject.peer;
    std::unique_ptr<TransferWatch> watch(new TransferWatch(options, std::move(subject)));
    TransferWatch& self = *watch;
    auto page = LivePage::start(options.observing, page_subject(self.end_, where, true), log);
    if (!page) return page.error();
    self.page_ = std::move(*page);
    auto metrics = serve_metrics(options, log, [&self, sends] {
        return metrics_text(
            {.role = sends ? "sender" : "receiver", .version = UDTX_VERSION, .transfers = {self.latest()}});
    });
    if (!metrics) return metrics.error();
    self.metrics_ = std::move(*metrics);
    self.control_ = open_control(log, self.control());
    if (options.observing.json_stream) self.json_.emplace(std::move(print));
    return watch;
}

ControlSocket::Handler TransferWatch::control() {
    auto status = [this] { return progress_json(latest()); };
    if (end_ == DataEnd::sender) return control_handler(rates_, status);
    return [status](const std::string& line) -> Result<std::string> {
        if (line == "status") return status();
        return Error{ErrorCode::invalid_argument,
                     "the sender keeps the cap that it was started with; there is: status"};
    };
}

Rate TransferWatch::first_cap(Instant now) { return cap_ = rates_.update(now, true); }

std::optional<Rate> TransferWatch::new_cap(Instant now) {
    if (end_ == DataEnd::receiver) return std::nullopt;
    const Rate cap = rates_.update(now, true);
    if (cap == cap_) return std::nullopt;
    return cap_ = cap;
}

void TransferWatch::look(Glance glance) {
    glance.cap = cap_;
    observer_.look(glance);
    if (json_) json_->tick(glance.at, observer_.latest());
    if (page_ && page_->due(glance.at)) page_->tick(glance.at, {observer_.latest()});
}

void TransferWatch::finish(FinalReport& report, bool last) {
    if (page_) page_->finish(latest().at, {latest()}, report, last);
}

}  // namespace udtx::apps

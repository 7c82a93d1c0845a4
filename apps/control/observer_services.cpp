#include "control/observer_services.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/observer.hpp"
#include "observe/prometheus.hpp"

namespace udtx::apps {
namespace {

/// Limits that keep an answer short.
constexpr std::size_t kMostSources = 16;
constexpr std::size_t kMostServed = 100;

std::uint16_t port_of(const TransferCard& card, const Observation& seen) {
    if (card.port != 0 || !seen.stats || seen.stats->paths.empty()) return card.port;
    return seen.stats->paths.front().remote.port;
}

void put_served(JsonWriter& json, const ServedTransfer& one) {
    json.begin_object();
    json.key("who").string(one.who);
    json.key("role").string(one.seen.sends ? "sender" : "receiver");
    json.key("directory").string(one.directory);
    json.key("file").string(one.seen.progress.current_name);
    json.key("progress").json(progress_json(one.seen));
    json.end_object();
}

/// "45 % of 1.20 GB, 95.0 Mbit/s, photos/a.jpg"
std::string course_of(const Observation& seen) {
    const transfer::Progress& progress = seen.progress;
    std::string text = format_bytes(progress.bytes_done);
    if (progress.bytes_total > 0) text += " of " + format_bytes(std::max(progress.bytes_total, progress.bytes_done));
    text += ", " + format_rate(seen.rate);
    if (seen.silent) text += ", no answer for " + format_elapsed(*seen.silent);
    if (!progress.current_name.empty()) text += ", " + escape_for_terminal(progress.current_name);
    return text;
}

std::string joined(const std::vector<std::string>& sources) {
    std::string text;
    for (std::size_t i = 0; i < sources.size() && i < kMostSources; ++i) {
        text += (i == 0 ? "" : " ") + escape_for_terminal(sources[i]);
    }
    if (sources.size() > kMostSources) text += " and " + format_count(sources.size() - kMostSources) + " more";
    return text;
}

std::string place(const std::string& directory) {
    return directory.empty() ? "standard output" : escape_for_terminal(directory);
}

}  // namespace

std::string user_name() {
    const passwd* entry = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): before there are threads
    return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
}

std::string seen_from_elsewhere(const std::string& path) {
    if (path == "-") return path;
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.string();
}

std::string status_json(const TransferCard& card, const Observation& seen, const std::vector<ServedTransfer>& served) {
    JsonWriter json;
    json.begin_object();
    json.key("program").string(card.program);
    json.key("role").string(card.role);
    json.key("user").string(card.user);
    const std::uint16_t port = port_of(card, seen);
    json.key("port");
    port == 0 ? json.null() : json.number(std::uint64_t{port});
    json.key("sources").begin_array();
    for (std::size_t i = 0; i < card.sources.size() && i < kMostSources; ++i) json.string(card.sources[i]);
    json.end_array();
    json.key("source_count").number(std::uint64_t{card.sources.size()});
    json.key("destination").string(card.destination);
    json.key("file").string(seen.progress.current_name);
    if (card.role == "server") {
        json.key("transfers").begin_array();
        for (std::size_t i = 0; i < served.size() && i < kMostServed; ++i) put_served(json, served[i]);
        json.end_array();
        json.key("transfer_count").number(std::uint64_t{served.size()});
    }
    json.end_object();
    std::string text = progress_json(seen);
    text.back() = ',';
    return text.append(json.text(), 1);
}

std::string status_lines(const TransferCard& card, const Observation& seen, const std::vector<ServedTransfer>& served) {
    const std::uint16_t port = port_of(card, seen);
    std::string text = card.user + "  " + card.program + ", " + card.role;
    if (port != 0) text += " on port " + std::to_string(port);
    if (!card.sources.empty()) text += ": " + joined(card.sources) + " to " + place(card.destination);
    if (card.sources.empty()) text += ": " + place(card.destination);
    if (card.role != "server") return text + ", " + course_of(seen);
    text += ", " + format_count(served.size()) + (served.size() == 1 ? " transfer" : " transfers");
    for (std::size_t i = 0; i < served.size() && i < kMostServed; ++i) {
        const ServedTransfer& one = served[i];
        text += one.seen.sends ? "\tfrom " + place(one.directory) + " to " + escape_for_terminal(one.who)
                               : "\tfrom " + escape_for_terminal(one.who) + " to " + place(one.directory);
        text += ", " + course_of(one.seen);
    }
    std::vector<Observation> all;
    for (const ServedTransfer& one : served) all.push_back(one.seen);
    for (const transfer::JobProgress& job : jobs_of(all)) text += "\t" + job_line(job);
    if (served.size() > kMostServed) text += "\tand " + format_count(served.size() - kMostServed) + " more";
    return text;
}

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

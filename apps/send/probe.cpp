#include "send/probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/locations.hpp"
#include "common/units.hpp"
#include "connect/runner.hpp"
#include "connect/transfer_observers.hpp"
#include "observe/progress.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

constexpr Rate kGentle = Rate::bits_per_second(500e3);
// An upper bound, because a shaper lets packet pairs pass faster than the packets after them.
constexpr Rate kMostGentle = Rate::bits_per_second(5e6);
constexpr double kGentleShare = 0.05;
constexpr std::uint64_t kFarthestClock = 1ULL << 62U;  // ns since 1970, the year 2116

std::string percent(double share) {
    std::string text = std::to_string(share * 100.0);
    return text.substr(0, text.find('.') + 3) + " %";
}

/// Why the remote end over ssh refuses to serve, if it has reported that.
std::optional<Error> refusal(const std::shared_ptr<RemoteEnd>& remote) {
    if (!remote) return std::nullopt;
    const auto answer = remote->answer();
    if (!answer) return answer.error();
    return remote->gone() ? std::optional(remote->ended_early()) : std::nullopt;
}

/// The rate that the path carries: the lower of the sent and the delivered rate, because late acknowledgements can
/// raise the latter. A window may count one datagram too many, because samples fall between datagrams. So rate()
/// subtracts one datagram and gives a lower bound.
class Carried {
  public:
    void sample(Instant at, const ConnectionStats& stats) {
        std::uint64_t sent = 0;
        std::uint64_t delivered = 0;
        datagram_ = 0;
        for (const PathStats& path : stats.paths) {
            sent += path.sent_bytes;
            delivered += path.delivered_bytes;
            datagram_ = std::max<std::uint64_t>(datagram_, path.datagram_bytes);
        }
        sent_.sample(at.time_since_epoch(), sent);
        delivered_.sample(at.time_since_epoch(), delivered);
    }
    [[nodiscard]] Rate rate() const {
        const Rate one = Rate::bytes_per_second(static_cast<double>(datagram_) / to_seconds(kWindow));
        return std::max(Rate(), std::min(sent_.rate(), delivered_.rate()) - one);
    }

  private:
    static constexpr Duration kWindow = std::chrono::seconds(2);
    RateMeter sent_{kWindow};
    RateMeter delivered_{kWindow};
    std::uint64_t datagram_ = 0;
};

/// Caps the rate at a twentieth of the bottleneck rate that packet pairs measure.
void keep_gentle(transfer::Transfer& transfer, const ConnectionStats& stats) {
    Rate bottleneck;
    for (const PathStats& path : stats.paths) bottleneck = bottleneck + path.congestion.mtr;
    transfer.set_max_rate(std::clamp(bottleneck * kGentleShare, kGentle, kMostGentle));
}

/// Samples the path while data is in flight. A signal ends it.
void observe_probe(const Run& run, const std::shared_ptr<RemoteEnd>& remote, transfer::Transfer& transfer,
                   TransferObservers& observers, PathProbe& probe) {
    Carried carried;
    observers.begin_connection(monotonic_now());
    while (!transfer.done() && !transfer.stuck() && (transfer.connected_for() || !refusal(remote))) {
        if (remote) transfer.add_channel(remote->channel());
        if (remote && remote->gone()) transfer.suspect_peer();
        if (run.signals.wait(SignalWaiter::kTurn)) transfer.cancel(ErrorCode::interrupted, "interrupted");
        const Instant now = monotonic_now();
        const auto stats = transfer.stats();
        if (stats) carried.sample(now - transfer.stats_age(), *stats);
        if (stats && probe.gentle) keep_gentle(transfer, *stats);
        if (!transfer.done()) probe.reached = carried.rate();
        observers.look(now, {.progress = transfer.progress(),
                             .stats = stats,
                             .protocol = transfer.protocol_time(),
                             .process = process_time(),
                             .connected = transfer.connected_for().has_value()});
    }
}

Json json_of(const PathStats& path) {
    return Json::object({{"local", to_string(path.local)},
                         {"remote", to_string(path.remote)},
                         {"rtt_ms", in_milliseconds(path.smoothed_rtt)},
                         {"min_rtt_ms", in_milliseconds(path.min_rtt)},
                         {"rtt_variation_ms", in_milliseconds(path.rtt_variance)},
                         {"mtr_bps", path.congestion.mtr.bps()},
                         {"available_bps", path.congestion.available.bps()},
                         {"cd", path.congestion.congestion_degree},
                         {"loss", loss_of(path)},
                         {"datagram_bytes", path.datagram_bytes},
                         {"sent_packets", path.sent_packets}});
}

/// A request as for files into the home directory, although no file will be sent.
BootstrapFields request_for_nothing(const SendCommand& command) {
    BootstrapFields request;
    request.add("shape", std::string(to_string(SourceShape::several)));
    request.add("destination", "");
    request.add("transfer", "0");
    for (std::string& argument : command.common.for_other_side()) request.add("argument", std::move(argument));
    return request;
}

/// How far the remote clock is ahead. The remote time travelled for half a round trip over ssh.
std::optional<Duration> clock_ahead(const Route& route, const std::optional<ConnectionStats>& stats) {
    const auto told = route.remote ? route.remote->reply().number("clock") : std::nullopt;
    if (!told || *told > kFarthestClock) return std::nullopt;
    const Duration on_its_way = stats && !stats->paths.empty() ? stats->paths.front().min_rtt / 2 : Duration();
    const auto here = route.remote->replied_at().time_since_epoch();
    return std::chrono::nanoseconds(static_cast<std::int64_t>(*told)) + on_its_way - here;
}

}  // namespace

PathProbe probe_path(const SendCommand& command, const Run& run, ProbeLoad load) {
    PathProbe probe;
    probe.gentle = load != ProbeLoad::full && command.common.rate.is_infinite();
    const auto fail = [&probe](const Error& error) {
        probe.error = error;
        return probe;
    };
    const auto route = find_route(command, run, "udtx-recv", request_for_nothing(command));
    if (!route) return fail(route.error());
    auto observers = TransferObservers::start(command.common, run.log, {.end = DataEnd::sender, .peer = command.peer()},
                                              JsonTicker::to_output());
    if (!observers) return fail(observers.error());
    TransportConfig config = command.transport();
    if (probe.gentle) config.max_rate = kGentle;
    auto connection = connection_over(command, *route, std::move(config));
    if (!connection) return fail(connection.error());
    transfer::MeasureRequest request{
        .host = command.url.host, .credentials = route->credentials, .peer = std::move(*connection)};
    request.events.log = run.log.sink();
    if (load == ProbeLoad::touch) request.time = std::chrono::seconds(1);
    auto transfer = transfer::start_measure(std::move(request));
    if (!transfer) return fail(transfer.error());
    transfer->when_done([&run] { run.signals.wake(); });
    probe.buffer_advice = transfer->buffer_advice();
    observe_probe(run, route->remote, *transfer, **observers, probe);

    const Observation seen = (*observers)->latest();
    const bool connected = transfer->connected_for().has_value();
    probe.stats = transfer->stats();
    probe.handshake = transfer->handshake_time();
    probe.limits = seen.limits;
    if (probe.stats && !probe.stats->paths.empty()) probe.interface = interface_of(probe.stats->paths.front().local);
    const auto status = transfer->outcome().status;
    if (!status.ok()) {
        const Error& error = status.error();
        // Over ssh the remote end certainly listens, so a host or firewall on the path refuses the datagrams.
        const bool blocked = route->remote && !connected && error.code == ErrorCode::network;
        probe.error = Error{blocked ? ErrorCode::udp_blocked : error.code, explain(error, command, *route, connected)};
    }
    if (const auto why = refusal(route->remote); why && !connected) probe.error = why;
    probe.heard = route->remote && route->remote->heard();
    probe.clock_ahead = clock_ahead(*route, probe.stats);
    return probe;
}

std::vector<std::string> describe(const PathProbe& probe) {
    std::vector<std::string> lines;
    if (probe.handshake) lines.push_back("handshake: " + format_milliseconds(*probe.handshake));
    for (std::size_t i = 0; probe.stats && i < probe.stats->paths.size(); ++i) {
        const PathStats& path = probe.stats->paths[i];
        const Rate mtr = path.congestion.mtr;
        lines.push_back("path " + to_string(path.local) + " to " + to_string(path.remote) + ":");
        lines.push_back("  RTT: shortest " + format_milliseconds(path.min_rtt) + ", now " +
                        format_milliseconds(path.smoothed_rtt) + ", variation " +
                        format_milliseconds(path.rtt_variance));
        lines.push_back("  MTR: " + (mtr.is_zero() ? "not measured" : format_rate(mtr)) + ", congestion degree " +
                        percent(path.congestion.congestion_degree));
        lines.push_back("  loss: " + percent(loss_of(path)) + " of " + format_count(path.sent_packets) + " packets");
        lines.push_back("  MTU: datagrams of " + format_count(path.datagram_bytes) + " bytes pass");
    }
    if (!probe.stats) return lines;
    lines.push_back("reached: " + format_rate(probe.reached) + " (" + format_byte_rate(probe.reached) + "), " +
                    probe.stats->congestion + ", " + probe.stats->cipher);
    if (probe.gentle) {
        lines.push_back(
            "limited to 5 % of the link rate that packet pairs show, 500 kbit/s to 5 Mbit/s: --rate R measures up to "
            "R");
    } else if (const std::string line = limit_line(probe.limits); !line.empty()) {
        lines.push_back(line);
    }
    lines.push_back("buffers here: " + (probe.buffer_advice.empty() ? "as large as requested" : probe.buffer_advice));
    return lines;
}

Json to_json(const PathProbe& probe) {
    const ExitCode code = probe.error ? exit_code_for(probe.error->code) : ExitCode::ok;
    const bool measured = probe.handshake && probe.stats;
    const bool limited = !probe.limits.empty() && !probe.gentle;
    return Json::object({
        {"event", "probe"},
        {"status", probe.error ? "error" : "ok"},
        {"exit_code", static_cast<int>(code)},
        {"reason", to_string(code)},
        {"error", probe.error ? Json(probe.error->message) : Json(nullptr)},
        {"handshake_ms", probe.handshake ? Json(in_milliseconds(*probe.handshake)) : Json(nullptr)},
        {"reached_bps", probe.handshake ? Json(probe.reached.bps()) : Json(nullptr)},
        {"limited_by", limited ? Json(name_of(probe.limits.front().limit)) : Json(nullptr)},
        {"cipher", measured ? Json(probe.stats->cipher) : Json(nullptr)},
        {"cc", measured ? Json(probe.stats->congestion) : Json(nullptr)},
        {"buffer_advice", probe.buffer_advice},
        {"paths", Json::array(measured ? probe.stats->paths : std::vector<PathStats>(), json_of)},
    });
}

ExitCode show_probe(const Run& run, const PathProbe& probe, bool json) {
    run.terminal.clear_status();
    const ExitCode code = probe.error ? exit_code_for(probe.error->code) : ExitCode::ok;
    if (json) {
        if (probe.error) run.log.error(probe.error->message);
        return print_output(run.log, to_json(probe).text() + "\n", code);
    }
    std::string text;
    for (const std::string& line : describe(probe)) text += line + "\n";
    if (probe.error) run.log.error(probe.error->message);
    return print_output(run.log, text, code);
}

}  // namespace udtx::apps

// udtx-wan-emulator: emulates a long link between two TUN devices. Prints "ready" when they exist. It runs until SIGINT
// or SIGTERM, then prints its counters as one JSON object.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "emulator.hpp"
#include "settings.hpp"
#include "udtx/system.hpp"

namespace {

using namespace udtx;
using namespace udtx::wan;

volatile std::sig_atomic_t g_stop = 0;

constexpr Duration kLeastInterval = std::chrono::milliseconds(1);

struct Options {
    std::string tun_a;
    std::string tun_b;
    std::vector<std::string> both, down, up, changes, hosts;
    std::string trace_file;
    std::string flow_file;
    std::string interval = "100ms";
    std::uint64_t seed = 1;
    bool no_realtime = false;
};

void add_options(CLI::App& app, Options& o) {
    app.add_option("--tun-a", o.tun_a, "Device to make for side A")->required();
    app.add_option("--tun-b", o.tun_b, "Device to make for side B")->required();
    app.add_option(
        "--both", o.both,
        "The line, KEY=VALUE,...: rate=100M (0: down) delay=50ms (one way) queue=1.5bdp (or bytes) loss=1% "
        "burst=enter/leave[/loss] jitter=2ms coalesce=200us order=free (overtaking by jitter) reorder=1%/5ms "
        "duplicate=0.1% cross=50M[/on/off[/from]]");
    app.add_option("--down", o.down, "The same for packets from A to B");
    app.add_option("--up", o.up, "The same for packets from B to A");
    app.add_option("--at", o.changes, "A change, 5s:down:rate=50M; in the order of their times");
    app.add_option("--host", o.hosts, "3:delay=40ms: extra delay each way of the host of B whose address ends in 3");
    app.add_option("--trace", o.trace_file, "CSV file of both directions");
    app.add_option("--flows", o.flow_file, "CSV of the bytes delivered to (down) and from (up) each host of B");
    app.add_option("--interval", o.interval, "Time between two rows of a trace");
    app.add_option("--seed", o.seed, "Seed of all random events");
    app.add_flag("--no-realtime", o.no_realtime, "Do not ask for a real-time priority");
}

Result<ScenarioSettings> scenario(const Options& o) {
    using Side = ScenarioSettings::Side;
    ScenarioSettings settings;
    const auto apply = [&settings](const std::vector<std::string>& texts, auto&& call) -> Result<void> {
        for (const std::string& text : texts) {
            if (auto done = call(settings, text); !done) return done;
        }
        return {};
    };
    const auto at_start = [](Side side) {
        return [side](ScenarioSettings& s, const std::string& text) { return s.apply(Duration::zero(), side, text); };
    };
    if (auto done = apply(o.both, at_start(Side::both)); !done) return done.error();
    if (auto done = apply(o.down, at_start(Side::down)); !done) return done.error();
    if (auto done = apply(o.up, at_start(Side::up)); !done) return done.error();
    if (auto done = apply(o.changes, [](auto& s, auto& text) { return s.apply_change(text); }); !done) {
        return done.error();
    }
    if (auto done = apply(o.hosts, [](auto& s, auto& text) { return s.apply_host(text); }); !done) return done.error();
    return settings;
}

/// Asks for exact wake-ups: a small timer slack and a real-time priority. Without the privilege for the priority, the
/// emulator continues and is less exact.
void become_punctual(bool realtime) {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    sched_param priority{};
    priority.sched_priority = 10;
    if (realtime && ::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        std::fputs("udtx-wan-emulator: no real-time priority: spacing suffers on a busy machine\n", stderr);
    }
}

void print_line(const char* name, const LineCounters& c) {
    const auto n = [](std::uint64_t v) { return static_cast<unsigned long long>(v); };
    std::printf(
        "\"%s\":{\"offered\":%llu,\"delivered\":%llu,\"delivered_bytes\":%llu,\"dropped_queue\":%llu,"
        "\"dropped_loss\":%llu,\"dropped_burst\":%llu,\"duplicated\":%llu,\"reordered\":%llu,"
        "\"cross_bytes\":%llu,\"cross_dropped\":%llu,\"mean_wait_ms\":%.4f},",
        name, n(c.offered), n(c.delivered), n(c.delivered_bytes), n(c.dropped_queue), n(c.dropped_loss),
        n(c.dropped_burst), n(c.duplicated), n(c.reordered), n(c.cross_bytes), n(c.cross_dropped),
        c.queued > 0 ? c.wait_seconds * 1e3 / static_cast<double>(c.queued) : 0.0);
}

void print_report(const Emulator& emulator, Instant start) {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    const auto us = [](Duration d) { return static_cast<double>(d.count()) / 1e3; };
    std::printf("{");
    print_line("down", emulator.down().counters());
    print_line("up", emulator.up().counters());
    const Lateness& late = emulator.lateness();
    std::printf(
        "\"late_us\":{\"p50\":%.0f,\"p90\":%.0f,\"p99\":%.0f,\"max\":%.0f},\"refused\":%llu,\"seconds\":%.3f,"
        "\"cpu_seconds\":%.3f}\n",
        us(late.quantile(0.5)), us(late.quantile(0.9)), us(late.quantile(0.99)), us(late.max()),
        static_cast<unsigned long long>(emulator.refused()), to_seconds(monotonic_now() - start),
        seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

template <class T>
T or_exit(Result<T> result) {
    if (result) return std::move(*result);
    std::fprintf(stderr, "udtx-wan-emulator: %s\n", result.error().message.c_str());
    std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("A long line between two TUN devices");
    Options options;
    add_options(app, options);
    CLI11_PARSE(app, argc, argv);

    struct sigaction action {};
    action.sa_handler = [](int) { g_stop = 1; };
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);

    auto lines = or_exit(or_exit(scenario(options)).lines(options.seed));
    const Duration interval = or_exit(parse_duration(options.interval));
    if (interval < kLeastInterval) {
        std::fputs("udtx-wan-emulator: --interval: at least 1ms\n", stderr);
        return 1;
    }
    auto trace = or_exit(Trace::open(options.trace_file, options.flow_file, interval));
    auto a = or_exit(TunDevice::make(options.tun_a));
    auto b = or_exit(TunDevice::make(options.tun_b));
    become_punctual(!options.no_realtime);
    const Instant start = monotonic_now();
    Emulator emulator(std::move(a), std::move(b), Line(start, std::move(lines.down)), Line(start, std::move(lines.up)),
                      std::move(trace), start);
    std::puts("ready");
    std::fflush(stdout);
    emulator.run(g_stop);
    print_report(emulator, start);
    return 0;
}

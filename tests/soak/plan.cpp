#include "soak/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "soak/dice.hpp"
#include "udtx/congestion.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::soak {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::size_t draw_line_count(Dice& dice) {
    return dice.one_of(std::array<std::size_t, 10>{1, 1, 1, 1, 1, 2, 2, 2, 3, 4});
}

std::uint64_t queue_of(Dice& dice, std::uint64_t rate, Duration rtt) {
    const double bdp = static_cast<double>(rate) / 8.0 * to_seconds(rtt);
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(bdp * dice.magnitude(0.1, 10.0)), 12'000);
}

Line draw_line(Dice& dice, double least_rate, double most_rate) {
    Line line;
    const auto rate = static_cast<std::uint64_t>(dice.magnitude(least_rate, most_rate));
    const Duration rtt = dice.time(0.0001, 1.0);
    const Duration there = Dice::seconds(to_seconds(rtt) * (dice.chance(0.7) ? 0.5 : dice.between(0.1, 0.9)));
    line.up.bits_per_second = line.down.bits_per_second = rate;
    line.up.delay = there;
    line.down.delay = rtt - there;
    if (dice.chance(0.3)) line.down.bits_per_second = std::max<std::uint64_t>(rate / (1 + dice.below(100)), 200'000);
    for (sim::LinkParams* p : {&line.up, &line.down}) p->queue_bytes = queue_of(dice, p->bits_per_second, rtt);
    line.up.mtu = line.down.mtu = dice.one_of(std::array<std::uint32_t, 5>{1200, 1280, 1472, 1472, 8972});
    if (dice.chance(0.2)) line.up.jitter = line.down.jitter = Dice::seconds(to_seconds(rtt) * dice.between(0.0, 0.5));
    if (dice.chance(0.3)) line.up.loss = line.down.loss = dice.magnitude(1e-5, 1e-2);
    return line;
}

TransportConfig draw_config(Dice& dice, bool hours_long, proto::Experiment& experiment) {
    TransportConfig config;
    const auto pick = [&dice](const std::vector<std::string>& names) {
        return names[static_cast<std::size_t>(dice.below(names.size()))];
    };
    if (dice.chance(0.6)) config.congestion = pick(congestion_controller_names());
    if (dice.chance(0.5)) config.scheduler = pick(path_scheduler_names());
    config.policy = dice.one_of(std::array{Policy::fair, Policy::fair, Policy::fair, Policy::high, Policy::low});
    config.reinject = dice.chance(0.8);
    config.coupling = dice.one_of(std::array{Coupling::detect, Coupling::detect, Coupling::none, Coupling::lia});
    experiment.silent_path_rule = dice.chance(0.9);
    experiment.regenerate_acks = dice.chance(0.9);
    config.idle_timeout = dice.one_of(std::array<Duration, 3>{seconds(20), seconds(30), seconds(60)});
    config.keep_alive = dice.one_of(std::array<Duration, 2>{seconds(1), seconds(5)});
    config.stream_window = std::uint64_t{1} << (16 + dice.below(8));
    config.connection_window = config.stream_window << dice.below(3);
    config.max_memory = config.connection_window;
    config.send_buffer = std::uint64_t{1} << (16 + dice.below(8));
    config.max_streams = static_cast<std::uint32_t>(dice.one_of(std::array<std::uint64_t, 3>{4, 32, 256}));
    config.rekey_after_packets = static_cast<std::uint64_t>(dice.magnitude(hours_long ? 16 : 256, 1U << 18U));
    if (dice.chance(0.1)) config.max_rate = Rate::bits_per_second(dice.magnitude(1e6, 1e9));
    if (dice.chance(0.1)) config.max_receive_rate = Rate::bits_per_second(dice.magnitude(1e6, 1e9));
    return config;
}

void draw_oddities(Dice& dice, std::uint64_t window, Task& task) {
    if (dice.chance(0.08)) {
        // Slow, but a window takes at most a few seconds to read.
        task.reader_speed = static_cast<std::uint64_t>(dice.magnitude(2e4, 2e6)) + window / 8;
    }
    if (dice.chance(0.06)) task.reset_at = dice.below(task.bytes + 1);
    if (dice.chance(0.06)) task.stop_at = dice.below(task.bytes + 1);
}

Task draw_task(Dice& dice, std::uint64_t bytes, Duration length, std::uint64_t window) {
    Task task;
    task.from = dice.chance(0.6) ? Role::client : Role::server;
    task.kind = dice.chance(0.6) ? StreamKind::unordered : StreamKind::ordered;
    task.bytes = bytes;
    if (dice.chance(0.4)) task.start = Dice::seconds(dice.between(0.0, to_seconds(length) * 0.8));
    if (dice.chance(0.2)) {
        task.chunk = static_cast<std::uint64_t>(dice.magnitude(1.0, 1e5));
        const double chunks = std::max(1.0, static_cast<double>(bytes) / static_cast<double>(task.chunk));
        task.pause = Dice::seconds(std::max(0.002, to_seconds(length) / chunks * dice.between(0.2, 1.0)));
    }
    draw_oddities(dice, window, task);
    return task;
}

/// Draws a set of files: one to three large ones, perhaps many small ones, perhaps an empty one.
void draw_tasks(Dice& dice, std::uint64_t bytes, Plan& plan) {
    const std::uint64_t window = std::min(plan.client.stream_window, plan.server.stream_window);
    const std::uint64_t large = 1 + dice.below(3);
    for (std::uint64_t i = 0; i < large; ++i) plan.tasks.push_back(draw_task(dice, bytes / large, plan.length, window));
    if (dice.chance(0.4)) {
        const std::uint64_t small = 1 + dice.below(300);
        for (std::uint64_t i = 0; i < small; ++i) {
            plan.tasks.push_back(draw_task(dice, dice.below(20'000), plan.length, window));
        }
    }
    if (dice.chance(0.3)) plan.tasks.push_back(draw_task(dice, 0, plan.length, window));
}

/// Draws short messages between long silences, in both directions.
void draw_conversation(Dice& dice, Plan& plan) {
    const std::uint64_t speakers = 1 + dice.below(3);
    for (std::uint64_t i = 0; i < speakers; ++i) {
        Task task;
        task.from = dice.chance(0.5) ? Role::client : Role::server;
        task.kind = dice.chance(0.5) ? StreamKind::unordered : StreamKind::ordered;
        task.chunk = static_cast<std::uint64_t>(dice.magnitude(1.0, 2e5));
        task.pause = dice.time(1.0, 1800.0);
        const double words = to_seconds(plan.length) / to_seconds(task.pause);
        task.bytes = static_cast<std::uint64_t>(std::min(2e8, words * static_cast<double>(task.chunk)));
        plan.tasks.push_back(task);
    }
}

sim::HostNoise draw_noise(Dice& dice) {
    if (!dice.chance(0.2)) return {};
    return {.late = dice.magnitude(1e-3, 0.1), .interrupted = dice.magnitude(1e-4, 1e-2)};
}

}  // namespace

Plan draw_plan(std::uint64_t seed) {
    Dice dice(seed);
    Plan plan;
    plan.seed = seed;
    plan.hours_long = dice.chance(0.12);
    plan.client = draw_config(dice, plan.hours_long, plan.client_experiment);
    plan.server = draw_config(dice, plan.hours_long, plan.server_experiment);
    const std::size_t count = draw_line_count(dice);
    const double centre = dice.magnitude(1e6, 1e10);
    for (std::size_t i = 0; i < count; ++i) {
        plan.lines.push_back(draw_line(dice, std::max(centre / 10.0, 1e6), std::min(centre * 3.0, 1e10)));
    }
    Duration slowest{};
    for (const Line& line : plan.lines) slowest = std::max(slowest, line.up.delay + line.down.delay);
    for (TransportConfig* config : {&plan.client, &plan.server}) config->handshake_timeout = seconds(20) + 20 * slowest;
    if (plan.hours_long) {
        plan.length = dice.time(2.0 * 3600.0, 12.0 * 3600.0);
        draw_conversation(dice, plan);
    } else {
        const double packets = dice.magnitude(3e4, 1e6);
        const double rate = static_cast<double>(plan.lines[0].up.bits_per_second) / 8.0;
        plan.length =
            Dice::seconds(std::clamp(packets * plan.lines[0].up.mtu / rate * dice.between(1.0, 4.0), 8.0, 1500.0));
        const double bytes = std::min(packets * plan.lines[0].up.mtu, to_seconds(plan.length) * rate);
        draw_tasks(dice, static_cast<std::uint64_t>(bytes), plan);
    }
    plan.faults = draw_faults(dice, plan.lines, plan.length, plan.hours_long);
    plan.client_noise = draw_noise(dice);
    plan.server_noise = draw_noise(dice);
    plan.packet_threads = dice.chance(0.2) ? 2 : 0;
    plan.reset_key = dice.chance(0.5);
    if (dice.chance(0.15)) {
        plan.client_experiment.first_number = plan.server_experiment.first_number =
            (PacketNumber{1} << dice.one_of(std::array{24U, 32U, 48U})) - 1 - dice.below(3000);
    }
    return plan;
}

namespace {

std::string text_of(const char* end, const TransportConfig& c) {
    char out[400];
    std::snprintf(
        out, sizeof out,
        "%s: %s, policy %d, coupling %d, scheduler %s%s, windows %llu and %llu, send buffer %llu, %u streams, idle "
        "time-out %.0f s, keep-alive %.0f s, rekey after %llu packets, caps %.3g and %.3g bit/s",
        end, c.congestion.c_str(), static_cast<int>(c.policy), static_cast<int>(c.coupling), c.scheduler.c_str(),
        c.reinject ? "" : " without reinjection", static_cast<unsigned long long>(c.connection_window),
        static_cast<unsigned long long>(c.stream_window), static_cast<unsigned long long>(c.send_buffer), c.max_streams,
        to_seconds(c.idle_timeout), to_seconds(c.keep_alive), static_cast<unsigned long long>(c.rekey_after_packets),
        c.max_rate.bps(), c.max_receive_rate.bps());
    return out;
}

std::string text_of(std::size_t number, const Line& l) {
    char out[300];
    std::snprintf(
        out, sizeof out,
        "line %zu: %.3g and %.3g Mbit/s, %.2f and %.2f ms, queues of %llu and %llu bytes, MTU %u, loss %.2g, "
        "jitter %.2f ms",
        number, static_cast<double>(l.up.bits_per_second) / 1e6, static_cast<double>(l.down.bits_per_second) / 1e6,
        to_seconds(l.up.delay) * 1e3, to_seconds(l.down.delay) * 1e3, static_cast<unsigned long long>(l.up.queue_bytes),
        static_cast<unsigned long long>(l.down.queue_bytes), l.up.mtu, l.up.loss, to_seconds(l.up.jitter) * 1e3);
    return out;
}

std::string text_of(std::size_t number, const Task& t) {
    char out[300];
    std::snprintf(out, sizeof out, "task %zu: %llu bytes from the %s, %s, at %.3f s", number,
                  static_cast<unsigned long long>(t.bytes), t.from == Role::client ? "client" : "server",
                  t.kind == StreamKind::unordered ? "unordered" : "ordered", to_seconds(t.start));
    std::string text = out;
    if (t.pause > Duration{}) {
        text += ", " + std::to_string(t.chunk) + " bytes every " + std::to_string(to_seconds(t.pause)) + " s";
    }
    if (t.reader_speed > 0) text += ", read at " + std::to_string(t.reader_speed) + " bytes/s";
    if (t.reset_at) text += ", reset after " + std::to_string(*t.reset_at);
    if (t.stop_at) text += ", stopped after " + std::to_string(*t.stop_at);
    return text;
}

}  // namespace

std::vector<std::string> describe(const Plan& plan) {
    std::vector<std::string> out;
    char first[200];
    std::snprintf(first, sizeof first,
                  "seed %llu: %.1f s%s, %zu lines, %zu faults, %zu tasks, %zu packet threads%s, first number %llu",
                  static_cast<unsigned long long>(plan.seed), to_seconds(plan.length),
                  plan.hours_long ? " (hours)" : "", plan.lines.size(), plan.faults.size(), plan.tasks.size(),
                  plan.packet_threads, plan.reset_key ? ", reset key" : "",
                  static_cast<unsigned long long>(plan.client_experiment.first_number));
    out.emplace_back(first);
    out.push_back(text_of("client", plan.client));
    out.push_back(text_of("server", plan.server));
    for (std::size_t i = 0; i < plan.lines.size(); ++i) out.push_back(text_of(i, plan.lines[i]));
    constexpr std::size_t kMostTasks = 40;
    for (std::size_t i = 0; i < std::min(plan.tasks.size(), kMostTasks); ++i) out.push_back(text_of(i, plan.tasks[i]));
    return out;
}

}  // namespace udtx::soak

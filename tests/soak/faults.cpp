#include "soak/faults.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace udtx::soak {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kMostLoss = 0.38;   // for a line that works: more than six of ten packets arrive
constexpr double kMostBurst = 50.0;  // packets; at two probes a second a longer burst lasts for minutes
constexpr std::uint64_t kLeastQueue = 20'000;
constexpr std::uint64_t kLeastRate = 64'000;

double combined(double a, double b) noexcept { return 1.0 - (1.0 - a) * (1.0 - b); }

Duration round_trip(const Line& line) noexcept { return line.up.delay + line.down.delay; }

Duration queueing(const sim::LinkParams& p) noexcept {
    if (p.bits_per_second == 0) return {};
    return Dice::seconds(static_cast<double>(p.queue_bytes) * 8.0 / static_cast<double>(p.bits_per_second));
}

bool passes(const sim::LinkParams& p) noexcept {
    if (std::ranges::any_of(p.blackouts, [](const auto& b) { return b.period == Duration{}; })) return false;
    const double bursts = p.burst.enter / (p.burst.enter + p.burst.leave);
    if (p.burst.enter > 0.0 && (p.burst.leave < 1.0 / kMostBurst || combined(bursts, p.loss) > kMostLoss)) return false;
    return combined(p.loss, p.corrupt) <= kMostLoss;
}

void apply(const Fault& fault, const Duration rtt, sim::LinkParams& p) {
    const double v = fault.value;
    switch (fault.kind) {
        case FaultKind::loss:
            p.loss = combined(p.loss, v);
            break;
        case FaultKind::bursts:
            p.burst = {.enter = std::max(0.02 / v, 1.0 / 2000), .leave = 1.0 / v};
            break;
        case FaultKind::reordering:
            p.reorder = combined(p.reorder, v);
            p.reorder_by = std::max(p.reorder_by, rtt);
            break;
        case FaultKind::duplicates:
            p.duplicate = combined(p.duplicate, v);
            break;
        case FaultKind::corruption:
            p.corrupt = combined(p.corrupt, v);
            break;
        case FaultKind::blackout:
            p.blackouts.push_back({.from = Duration{}, .length = std::chrono::hours(1'000'000)});
            break;
        case FaultKind::blackouts:
            p.blackouts.push_back({.from = fault.from, .length = seconds(2), .period = seconds(7)});
            break;
        case FaultKind::rate:
        case FaultKind::thin:
            p.bits_per_second =
                std::max(static_cast<std::uint64_t>(static_cast<double>(p.bits_per_second) * v), kLeastRate);
            if (fault.kind == FaultKind::thin) p.queue_bytes = std::max(kLeastQueue, p.bits_per_second / 16);
            break;
        case FaultKind::bloat:
            p.queue_bytes = static_cast<std::uint64_t>(static_cast<double>(p.bits_per_second) / 8.0 * v);
            break;
        case FaultKind::mtu:
            p.mtu = std::min(p.mtu, static_cast<std::uint32_t>(v));
            break;
        default:
            break;  // faults of an end
    }
}

/// A kind that appears n times is drawn n times as often.
constexpr std::array kOfLines{
    FaultKind::loss,       FaultKind::loss,       FaultKind::bursts,     FaultKind::bursts,
    FaultKind::reordering, FaultKind::duplicates, FaultKind::corruption, FaultKind::blackout,
    FaultKind::blackout,   FaultKind::blackout,   FaultKind::blackouts,  FaultKind::rate,
    FaultKind::rate,       FaultKind::bloat,      FaultKind::thin,       FaultKind::mtu,
};
constexpr std::array kOfEnds{
    FaultKind::rebind_port,  FaultKind::rebind_port,  FaultKind::rebind_address, FaultKind::rebind_address,
    FaultKind::sleep_client, FaultKind::sleep_server, FaultKind::kill_client,    FaultKind::kill_server,
};

double draw_value(Dice& dice, FaultKind kind) {
    switch (kind) {
        case FaultKind::loss:
            return dice.one_of(std::array{0.001, 0.01, 0.05, 0.1, 0.3, 0.5});
        case FaultKind::bursts:
            return dice.one_of(std::array{2.0, 20.0, 200.0, 1000.0});
        case FaultKind::reordering:
            return dice.one_of(std::array{0.001, 0.02, 0.1, 0.5});
        case FaultKind::duplicates:
            return dice.one_of(std::array{0.01, 0.2});
        case FaultKind::corruption:
            return dice.one_of(std::array{0.001, 0.02});
        case FaultKind::rate:
            return dice.magnitude(0.05, 5.0);
        case FaultKind::bloat:
            return dice.one_of(std::array{0.5, 2.0});
        case FaultKind::thin:
            return dice.one_of(std::array{0.1, 0.01});
        case FaultKind::mtu:
            return dice.one_of(std::array{1200.0, 1252.0, 1400.0});
        default:
            return 0.0;
    }
}

Duration draw_length(Dice& dice, FaultKind kind, Duration script) {
    const double most = std::max(0.2, to_seconds(script) / 3.0);
    switch (kind) {
        case FaultKind::blackout:
        case FaultKind::sleep_client:
        case FaultKind::sleep_server:
            if (script > seconds(600) && dice.chance(0.15)) return seconds(600);
            if (script > seconds(90) && dice.chance(0.3)) return seconds(30);
            if (script > seconds(6) && dice.chance(0.5)) return seconds(2);
            return dice.time(0.02, std::min(most, 60.0));
        case FaultKind::kill_client:
        case FaultKind::kill_server:
            return dice.time(0.05, std::min(most, 20.0));
        case FaultKind::rebind_port:
        case FaultKind::rebind_address:
            return {};
        default:
            return dice.chance(0.3) ? script : dice.time(0.05, most);
    }
}

/// One direction alone is as likely as both.
void draw_direction(Dice& dice, Fault& fault) {
    if (fault.kind == FaultKind::thin || dice.chance(0.5)) (dice.chance(0.5) ? fault.up : fault.down) = false;
    if (fault.kind == FaultKind::loss && fault.up != fault.down && dice.chance(0.3)) fault.value = 0.75;
}

}  // namespace

const char* to_string(FaultKind kind) noexcept {
    constexpr std::array kNames{"loss",
                                "bursts",
                                "reordering",
                                "duplicates",
                                "corruption",
                                "blackout",
                                "blackouts",
                                "rate",
                                "bloat",
                                "thin",
                                "mtu",
                                "port rebinds",
                                "address rebinds",
                                "client sleeps",
                                "server sleeps",
                                "client is killed",
                                "server is killed"};
    return kNames.at(static_cast<std::size_t>(kind));
}

std::string Fault::text() const {
    char out[160];
    if (of_line()) {
        std::snprintf(out, sizeof out, "line %zu%s: %s %.4g for %.3f s", line,
                      up && down ? "" : (up ? ", up" : ", down"), to_string(kind), value, to_seconds(length));
    } else {
        std::snprintf(out, sizeof out, "%s for %.3f s", to_string(kind), to_seconds(length));
    }
    return out;
}

std::vector<Fault> draw_faults(Dice& dice, const std::vector<Line>& lines, Duration length, bool hours_long) {
    std::vector<Fault> out;
    const auto draw = [&](FaultKind kind, std::size_t line) {
        Fault fault{.kind = kind, .line = line, .value = draw_value(dice, kind)};
        fault.length = std::min(draw_length(dice, kind, length), length);
        fault.from = Dice::seconds(dice.between(0.0, to_seconds(length - fault.length)));
        if (hours_long && fault.length > seconds(600)) fault.length = dice.time(1.0, 600.0);
        draw_direction(dice, fault);
        out.push_back(fault);
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::uint64_t count = dice.below(hours_long ? 12 : 6);
        for (std::uint64_t n = 0; n < count; ++n) draw(dice.one_of(kOfLines), i);
    }
    const std::uint64_t ends = dice.below(hours_long ? 6 : 4);
    for (std::uint64_t n = 0; n < ends; ++n) draw(dice.one_of(kOfEnds), 0);
    if (dice.chance(0.1)) {  // a NAT that loses its mapping again and again
        for (Duration at = seconds(5); at < std::min<Duration>(length, seconds(120)); at += seconds(5)) {
            out.push_back(
                {.kind = dice.one_of(std::array{FaultKind::rebind_port, FaultKind::rebind_address}), .from = at});
        }
    }
    std::ranges::stable_sort(out, {}, &Fault::from);
    return out;
}

void apply(const Fault& fault, Line& line) {
    const Duration rtt = round_trip(line);
    if (fault.up) apply(fault, rtt, line.up);
    if (fault.down) apply(fault, rtt, line.down);
}

bool works(const Line& line) noexcept { return passes(line.up) && passes(line.down); }

Duration patience(const Line& line) noexcept {
    constexpr int kRoundTrips = 10;
    const Duration slowest = round_trip(line) + queueing(line.up) + queueing(line.down) + line.up.jitter +
                             line.down.jitter + line.up.reorder_by + line.down.reorder_by;
    return seconds(10) + kRoundTrips * slowest;
}

}  // namespace udtx::soak

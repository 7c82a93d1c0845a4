// udtx-sim-flows: runs flows through one bottleneck in virtual time (tests/sim/flows.hpp) and prints figures on stdout.
//
//     udtx-sim-flows --rate 100M --rtt 100 --queue-bdp 1 --flows cubic bbr:5 udt:10:20 --seconds 40 --csv /tmp/run.csv
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include "common/units.hpp"
#include "sim/flows.hpp"
#include "sim/wireless.hpp"

namespace {

using namespace udtx;
using namespace udtx::sim;

struct Options {
    std::string rate = "100M";
    double rtt_ms = 100.0;
    double queue_bdp = 1.0;
    std::uint64_t queue_bytes = 0;
    double loss_percent = 0.0;
    double jitter_ms = 0.0;
    double coalesce_us = 0.0;
    std::string back_rate;
    std::uint64_t back_queue_bytes = ReturnLine{}.queue_bytes;
    double back_loss_percent = 0.0;
    std::vector<std::string> flows{"udt"};
    std::string cross;
    std::vector<std::string> changes;
    std::vector<std::string> rates;
    std::string line;
    std::string access;
    double seconds = 30.0;
    double from = 5.0;
    std::uint64_t seed = 1;
    std::string csv;
    double step = 0.1;
    std::string known;
    bool shared_key = false;
    bool whole_acks = false;
};

std::uint64_t bits(const std::string& text) {
    const auto parsed = apps::parse_rate(text);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    return static_cast<std::uint64_t>(parsed.value().bps());
}

/// Parses `text`, a number of at least 0. `whole` is the description for the error message.
double number(const std::string& whole, const std::string& text) {
    std::istringstream in(text);
    double value = 0.0;
    if (!(in >> value) || !in.eof() || !(value >= 0.0 && value < 1e15))
        throw std::runtime_error("'" + text + "' in '" + whole + "' is not a number from 0 on");
    return value;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
    return parts;
}

/// Parses cc[:start s[:rtt ms[:bytes]]]. In place of cc, "low" and "high" select that policy, and "tcp-bbr" selects TCP
/// with Linux's BBR.
FlowSpec parse_flow(const std::string& text) {
    const std::vector<std::string> parts = split(text);
    if (parts.empty() || parts.size() > 4)
        throw std::runtime_error("--flows: '" + text + "' is not cc[:start[:rtt[:bytes]]]");
    FlowSpec flow;
    flow.cc = parts[0];
    if (parts.size() > 1) flow.start = from_seconds(number(text, parts[1]));
    if (parts.size() > 2) flow.rtt = from_seconds(number(text, parts[2]) / 1e3);
    if (parts.size() > 3) flow.bytes = static_cast<std::uint64_t>(number(text, parts[3]));
    if (flow.cc == "low" || flow.cc == "high") {
        flow.config.policy = flow.cc == "low" ? Policy::low : Policy::high;
        flow.cc = "cubic";
    }
    if (flow.cc == kTcpBbr) return flow;
    if (const auto made = make_congestion_controller(flow.cc, {}); !made)
        throw std::runtime_error(made.error().message);
    return flow;
}

/// rate[:from s[:on s[:off s]]]
CrossTraffic parse_cross(const std::string& text) {
    const std::vector<std::string> parts = split(text);
    if (parts.size() > 4) throw std::runtime_error("--cross: '" + text + "' is not rate[:from[:on[:off]]]");
    CrossTraffic cross;
    cross.bits_per_second = bits(parts[0]);
    if (parts.size() > 1) cross.from = from_seconds(number(text, parts[1]));
    if (parts.size() > 2) cross.on = from_seconds(number(text, parts[2]));
    if (parts.size() > 3) cross.off = from_seconds(number(text, parts[3]));
    if (cross.on <= Duration::zero()) throw std::runtime_error("--cross: the time on is zero in '" + text + "'");
    return cross;
}

/// s:rate for each
std::vector<RateStep> trace(const Options& options) {
    std::vector<RateStep> steps;
    for (const std::string& text : options.rates) {
        const std::vector<std::string> parts = split(text);
        if (parts.size() != 2) throw std::runtime_error("--rates: '" + text + "' is not s:rate");
        steps.push_back({from_seconds(number(text, parts[0])), parts[1] == "0" ? 0 : bits(parts[1])});
        if (steps.size() == 1 ? steps[0].from != Duration::zero() : steps.back().from <= steps.rbegin()[1].from)
            throw std::runtime_error("--rates: the times must begin with 0 and grow");
    }
    if (!steps.empty() && steps.back().bits_per_second == 0)
        throw std::runtime_error("--rates: the last rate must not be 0");
    return steps;
}

/// name[:jitter ms[:hold ms]]
std::optional<WirelessLine> wireless(const Options& options) {
    if (options.line.empty()) return std::nullopt;
    const std::vector<std::string> parts = split(options.line);
    if (parts.empty() || parts.size() > 3 || (parts[0] != "starlink" && parts[0] != "5g"))
        throw std::runtime_error("--line: '" + options.line + "' is not starlink or 5g[:jitter[:hold]]");
    WirelessLine line = (parts[0] == "5g" ? millimetre_wave : starlink)(options.seed, from_seconds(options.seconds));
    if (parts.size() == 1) return line;
    line.jitter_law = nullptr;
    line.jitter = from_seconds(number(options.line, parts[1]) * 1e-3);
    line.jitter_hold = parts.size() > 2 ? from_seconds(number(options.line, parts[2]) * 1e-3) : Duration::zero();
    return line;
}

FlowRigSetup make_setup(const Options& options) {
    FlowRigSetup setup;
    setup.name = "flows";
    setup.seed = options.seed;
    setup.bits_per_second = bits(options.rate);
    setup.rtt = from_seconds(options.rtt_ms / 1e3);
    setup.queue_bdp = options.queue_bdp;
    setup.queue_bytes = options.queue_bytes;
    setup.loss = options.loss_percent / 100.0;
    setup.jitter = from_seconds(options.jitter_ms * 1e-3);
    setup.card.period = from_seconds(options.coalesce_us * 1e-6);
    for (const std::string& flow : options.flows) {
        setup.flows.push_back(parse_flow(flow));
        setup.flows.back().experiment.regenerate_acks = !options.whole_acks;
    }
    setup.shared_key = options.shared_key;
    if (!options.back_rate.empty()) setup.back.bits_per_second = bits(options.back_rate);
    setup.back.queue_bytes = options.back_queue_bytes;
    setup.back.loss = options.back_loss_percent / 100.0;
    if (!options.cross.empty()) setup.cross = parse_cross(options.cross);
    if (!options.access.empty()) setup.access_bits_per_second = bits(options.access);
    if (const auto line = wireless(options)) {
        FlowRigSetup changed = line->setup(options.seed);
        changed.flows = setup.flows;
        changed.shared_key = setup.shared_key;
        return changed;
    }
    return setup;
}

void write_csv(FlowRig& rig, const Options& options) {
    const std::vector<RateStep>& rates = rig.bottleneck().params().rates;
    std::ofstream out(options.csv);
    out << "time_s,queue_ms";
    for (std::size_t i = 0; i < rig.flow_count(); ++i)
        for (const char* column : {"goodput_mbps", "pacing_mbps", "window_kb", "mtr_mbps", "cd", "srtt_ms", "lost"})
            out << ',' << rig.setup().flows[i].cc << i << '_' << column;
    out << (rates.empty() ? "\n" : ",line_mbps\n");
    const Duration step = std::max(from_seconds(options.step) / FlowRig::kSample * FlowRig::kSample, FlowRig::kSample);
    for (Duration t = step; t <= rig.elapsed(); t += step) {
        const RigSample& now = rig.samples().at(static_cast<std::size_t>(t / FlowRig::kSample));
        const RigSample& before = rig.samples().at(static_cast<std::size_t>((t - step) / FlowRig::kSample));
        out << to_seconds(t) << ','
            << (rates.empty()
                    ? static_cast<double>(now.queue_bytes) * 8e3 / static_cast<double>(rig.setup().bits_per_second)
                    : to_seconds(now.queue_delay) * 1e3);
        for (std::size_t i = 0; i < rig.flow_count(); ++i) {
            const FlowSample& f = now.flows[i];
            out << ',' << rig.goodput(i, t - step, t).bps() / 1e6 << ',' << f.pacing_bps / 1e6 << ','
                << static_cast<double>(f.window) / 1e3 << ',' << f.mtr_bps / 1e6 << ',' << f.congestion_degree << ','
                << to_seconds(f.smoothed_rtt) * 1e3 << ',' << f.lost_packets - before.flows[i].lost_packets;
        }
        if (!rates.empty()) out << ',' << Rate::from_bytes(bytes_between(rates, t - step, t), step).bps() / 1e6;
        out << '\n';
    }
    if (!out.flush()) throw std::runtime_error("cannot write " + options.csv);
}

void check(const Options& options) {
    const auto within = [](const char* name, double value, double most) {
        if (value >= 0.0 && value <= most) return;  // false for NaN
        std::ostringstream text;
        text << name << " must lie between 0 and " << most;
        throw std::runtime_error(text.str());
    };
    within("--rtt", options.rtt_ms, 1e5);
    within("--queue-bdp", options.queue_bdp, 1e5);
    within("--loss", options.loss_percent, 100.0);
    within("--back-loss", options.back_loss_percent, 100.0);
    within("--coalesce", options.coalesce_us, 1e6);
    within("--seconds", options.seconds, 1e5);
    within("--from", options.from, 1e5);
    within("--step", options.step, 1e5);
    if (options.from >= options.seconds) throw std::runtime_error("--from must be less than --seconds");
}

void print_return_line(FlowRig& rig) {
    const LinkCounters& back = rig.return_line().counters();
    const auto passed = static_cast<double>(std::max<std::uint64_t>(back.delivered, 1));
    const double seconds = to_seconds(rig.elapsed());
    std::printf(
        "  reverse path: %.1f packets/s of %.1f bytes, queue mean %.0f max %llu bytes, lost %llu, dropped %llu\n",
        static_cast<double>(back.delivered) / seconds, static_cast<double>(back.delivered_bytes) / passed,
        back.queue_byte_seconds / seconds, static_cast<unsigned long long>(back.max_queue),
        static_cast<unsigned long long>(back.dropped_loss), static_cast<unsigned long long>(back.dropped_queue));
}

/// What a flow alone measures of the path in 20 s while the link has the rate of --known.
std::optional<KnownPath> learn(const Options& options, FlowSpec flow) {
    FlowRigSetup setup = make_setup(options);
    setup.bits_per_second = bits(options.known);
    setup.cross = {};
    flow.start = {};
    flow.bytes = 0;
    setup.flows = {flow};
    FlowRig rig(setup);
    rig.run_for(std::chrono::seconds(20));
    const auto known = rig.stats(0).known;
    if (known)
        std::printf("known: %.2f Mbit/s, %.1f ms, jitter %.1f ms\n", known->capacity.bps() / 1e6,
                    to_seconds(known->base_rtt) * 1e3, to_seconds(known->jitter) * 1e3);
    return known;
}

void run(const Options& options) {
    check(options);
    FlowRigSetup setup = make_setup(options);
    if (!options.known.empty()) {
        for (FlowSpec& flow : setup.flows) flow.known = learn(options, flow);
    }
    FlowRig rig(std::move(setup));
    rig.bottleneck().change([&](LinkParams& p) { p.rates = trace(options); });
    if (const auto line = wireless(options)) line->attach(rig);
    for (const std::string& change : options.changes) {
        const std::vector<std::string> parts = split(change);
        if (parts.size() != 2) throw std::runtime_error("--change: '" + change + "' is not s:rate");
        rig.at(from_seconds(number(change, parts[0])), [&rig, rate = bits(parts[1])] {
            rig.bottleneck().change([rate](LinkParams& line) { line.bits_per_second = rate; });
        });
    }
    rig.run_for(from_seconds(options.seconds));
    std::fputs(rig.table(from_seconds(options.from), rig.elapsed()).c_str(), stdout);
    print_return_line(rig);
    if (!options.csv.empty()) write_csv(rig, options);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        CLI::App app("Flows through one drop-tail bottleneck, in virtual time");
        app.add_option("--rate", options.rate, "Rate of the link: 100M, 1G")->capture_default_str();
        app.add_option("--rtt", options.rtt_ms, "Propagation of both ways, ms")->capture_default_str();
        app.add_option("--queue-bdp", options.queue_bdp, "Queue in units of rate x RTT")->capture_default_str();
        app.add_option("--queue-bytes", options.queue_bytes, "Queue in bytes, instead of --queue-bdp");
        app.add_option("--loss", options.loss_percent, "Random loss before the queue, percent")->capture_default_str();
        app.add_option("--jitter", options.jitter_ms, "Extra delay of the data packets, uniform from 0, in order, ms")
            ->capture_default_str();
        app.add_option("--coalesce", options.coalesce_us,
                       "Interrupt coalescing of the receivers: they get packets once in this time, us")
            ->capture_default_str();
        app.add_option("--back-rate", options.back_rate,
                       "Rate of the reverse path, which all flows share; default: infinite");
        app.add_option("--back-queue-bytes", options.back_queue_bytes, "Queue of the reverse path")
            ->capture_default_str();
        app.add_option("--back-loss", options.back_loss_percent, "Random loss of the reverse path, percent")
            ->capture_default_str();
        app.add_option("--flows", options.flows, "cc[:start s[:rtt ms[:bytes]]] for each flow; tcp-bbr: TCP")
            ->capture_default_str();
        app.add_option("--cross", options.cross,
                       "On/off cross traffic, rate[:from s[:on s[:off s]]]: from 5 s, 2 s on, 1 s off");
        app.add_option("--change", options.changes, "s:rate, the link has this rate from then on");
        app.add_option("--rates", options.rates,
                       "s:rate, a trace of the rate from 0 s on; packets in the queue wait while it is 0. --rate still "
                       "gives the queue of --queue-bdp");
        app.add_option("--line", options.line,
                       "A line that changes by itself, by the seed, instead of the link above: starlink or 5g, and "
                       "with other jitter: 5g:jitter ms:ms for which each draw holds");
        app.add_option("--access", options.access, "Rate of each sender's link to the bottleneck; default: infinite");
        app.add_option("--seconds", options.seconds, "Length of the run, s")->capture_default_str();
        app.add_option("--known", options.known,
                       "Each flow starts with what an earlier one, alone, measured on a link of this rate");
        app.add_flag("--shared-key", options.shared_key,
                     "Handshakes with a pre-shared key, which take one round trip less");
        app.add_flag("--whole-acks", options.whole_acks, "Without regeneration of ACKs (regenerate_acks off)");
        app.add_option("--from", options.from, "First second that counts for the figures")->capture_default_str();
        app.add_option("--seed", options.seed, "Seed of all random events")->capture_default_str();
        app.add_option("--csv", options.csv, "Write a row for each step to this file");
        app.add_option("--step", options.step, "Step of the CSV file, s")->capture_default_str();
        CLI11_PARSE(app, argc, argv);
        run(options);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "udtx-sim-flows: %s\n", e.what());
        return 1;
    }
}

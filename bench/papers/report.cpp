#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <ostream>

namespace udtx::papers {
namespace {

constexpr double kFairIndex = 0.98;

double last_join(const Run& run) {
    double last = 0.0;
    for (const FlowSeconds& flow : run.flows) last = std::max(last, flow.joined_s);
    return last;
}

std::uint64_t dropped_between(const Run& run, double from_s, double to_s) {
    std::uint64_t dropped = 0;
    for (const Sample& s : run.samples) {
        if (s.end_s <= from_s || s.end_s > to_s) continue;
        for (const std::uint32_t n : s.dropped) dropped += n;
    }
    return dropped;
}

double mean_queue_ms(const Run& run, double from_s) {
    double sum = 0.0;
    std::size_t n = 0;
    for (const Sample& s : run.samples) {
        if (s.end_s <= from_s) continue;
        sum += s.queue_ms;
        ++n;
    }
    return n > 0 ? sum / static_cast<double>(n) : 0.0;
}

FlowTotals sum_of(const Run& run) {
    FlowTotals sum;
    sum.intact = true;
    for (const FlowTotals& flow : run.totals) {
        sum.sent_packets += flow.sent_packets;
        sum.dropped += flow.dropped;
        sum.declared_lost += flow.declared_lost;
        sum.spurious += flow.spurious;
        sum.intact = sum.intact && flow.intact;
    }
    return sum;
}

void write_fairness(std::ostream& out, const char* prefix, const Fairness& f) {
    out << ",\"" << prefix << "_jain\":" << f.jain << ",\"" << prefix << "_min_max\":" << f.min_over_max << ",\""
        << prefix << "_deviation\":" << f.deviation;
}

}  // namespace

void write_summary(std::ostream& out, const Cell& cell, const Run& run) {
    const auto end = static_cast<std::size_t>(cell.seconds);
    const double joined = last_join(run);
    const auto after = static_cast<std::size_t>(std::floor(joined));
    const FlowTotals sum = sum_of(run);
    out << "{\"controller\":\"" << cell.controller << "\",\"seed\":" << cell.seed
        << ",\"throughput_mbps\":" << mean_throughput(run.flows, 0, end)
        << ",\"steady_mbps\":" << mean_throughput(run.flows, 10, end)
        << ",\"joined_mbps\":" << mean_throughput(run.flows, after + 5, after + 10);
    write_fairness(out, "mean", mean_fairness(run.flows, 10, 30));
    write_fairness(out, "joined", fairness_of_totals(run.flows, after + 5, after + 10));
    const std::optional<double> fair = time_to_fair(run.flows, kFairIndex);
    out << ",\"fair_after_s\":";
    if (fair) {
        out << *fair;
    } else {
        out << "null";
    }
    out << ",\"sent_packets\":" << sum.sent_packets << ",\"dropped\":" << sum.dropped
        << ",\"dropped_from_10\":" << dropped_between(run, 10.0, cell.seconds)
        << ",\"dropped_20_30\":" << dropped_between(run, 20.0, 30.0)
        << ",\"dropped_25_30\":" << dropped_between(run, 25.0, 30.0)
        << ",\"dropped_joined\":" << dropped_between(run, joined + 5.0, joined + 10.0)
        << ",\"declared_lost\":" << sum.declared_lost << ",\"spurious\":" << sum.spurious
        << ",\"cross_dropped\":" << run.cross_dropped << ",\"queue_ms\":" << mean_queue_ms(run, 10.0)
        << ",\"intact\":" << (sum.intact ? "true" : "false") << "}\n";
}

void write_samples(std::ostream& out, const Run& run) {
    out << "time_s,queue_ms,dropped";
    for (std::size_t i = 1; i <= run.flows.size(); ++i) {
        out << ",goodput" << i << ",pair" << i << ",mtr" << i << ",rate" << i << ",dropped" << i;
    }
    out << '\n';
    for (const Sample& s : run.samples) {
        std::uint64_t dropped = 0;
        for (const std::uint32_t n : s.dropped) dropped += n;
        out << s.end_s << ',' << s.queue_ms << ',' << dropped;
        for (std::size_t i = 0; i < run.flows.size(); ++i) {
            out << ',' << s.goodput_mbps[i] << ',' << s.pair_mbps[i] << ',' << s.mtr_mbps[i] << ',' << s.rate_mbps[i]
                << ',' << s.dropped[i];
        }
        out << '\n';
    }
}

void write_seconds(std::ostream& out, const Run& run) {
    out << "time_s,jain";
    for (std::size_t i = 1; i <= run.flows.size(); ++i) out << ",flow" << i;
    out << '\n';
    const std::size_t seconds = run.flows.empty() ? 0 : run.flows.front().mbps.size();
    for (std::size_t second = 0; second < seconds; ++second) {
        out << second + 1 << ',' << jain(shares_in(run.flows, second));
        for (const FlowSeconds& flow : run.flows) out << ',' << flow.mbps[second];
        out << '\n';
    }
}

}  // namespace udtx::papers

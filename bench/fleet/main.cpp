// udtx-sim-fleet: many hosts send one dataset over one link, in virtual time. Prints one line of figures, or one JSON
// object.
//
//     udtx-sim-fleet --hosts 100 --bytes 50e9 --core 100G --access 10G --rtt 100 --deaths 4
//
// Exits with 1 if a shard is incomplete when the virtual time is over.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "common/units.hpp"
#include "fleet.hpp"

namespace {

using namespace udtx;
using namespace udtx::sim;

struct FleetOptions {
    FleetSetup setup;
    std::string core = "100G";
    std::string access = "10G";
    double bytes = 50e9;
    double rtt_ms = 100;
    double back_seconds = 18;
    double at_most = 600;
    bool json = false;
};

std::uint64_t bits_of(const char* flag, const std::string& text) {
    const auto parsed = apps::parse_rate(text);
    if (!parsed || parsed->is_infinite() || parsed->bps() < 1e6) {
        throw std::runtime_error(std::string(flag) + ": '" + text + "' is no rate of 1M or more");
    }
    return static_cast<std::uint64_t>(parsed->bps());
}

void define(CLI::App& app, FleetOptions& options) {
    app.add_option("--hosts", options.setup.hosts, "Senders, and as many receivers")
        ->check(CLI::Range(std::size_t{1}, Fleet::kMostHosts));
    app.add_option("--bytes", options.bytes, "Size of the whole dataset")->check(CLI::Range(1e6, 1e13));
    app.add_option("--core", options.core, "Rate of the link that all share");
    app.add_option("--access", options.access, "Rate of each host's own link");
    app.add_option("--rtt", options.rtt_ms, "Round-trip time, ms")->check(CLI::Range(0.1, 1e4));
    app.add_option("--queue-bdp", options.setup.queue_bdp, "Queue of the core, in its bandwidth-delay product")
        ->check(CLI::Range(0.001, 100.0));
    app.add_option("--mtu", options.setup.mtu, "Bytes of UDP payload")->check(CLI::Range(1200, 65000));
    app.add_option("--window", options.setup.window,
                   "Bytes of a shard's stream that may be in flight (default: it grows with the link)")
        ->check(CLI::Range(std::uint64_t{1} << 20U, std::uint64_t{1} << 30U));
    app.add_option("--deaths", options.setup.deaths, "Number of hosts that fail once, half of them receivers");
    app.add_option("--back-after", options.back_seconds, "Seconds until a failed host returns")
        ->check(CLI::Range(0.1, 1e4));
    app.add_option("--at-most", options.at_most, "Virtual seconds after which the run ends")
        ->check(CLI::Range(0.1, 1e5));
    app.add_option("--seed", options.setup.seed, "Seed of all random events");
    app.add_flag("--json", options.json, "Print one JSON object");
}

void print(const FleetOptions& options, const FleetFigures& f) {
    const auto lost = static_cast<unsigned long long>(f.core_lost);
    const auto again = static_cast<unsigned long long>(f.sent_again);
    const auto most = static_cast<unsigned long long>(f.most_sent_again);
    const char* const form =
        options.json
            ? "{\"hosts\":%zu,\"bytes\":%.0f,\"seed\":%llu,\"deaths\":%zu,\"seconds\":%.3f,\"ideal_s\":%.3f,\"ratio\":%"
              ".3f,"
              "\"jain\":%.4f,\"slowest_over_mean\":%.3f,\"last_percent_s\":%.3f,\"core_use\":%.3f,\"core_lost\":%llu,"
              "\"sent_again\":%llu,\"most_sent_again\":%llu,\"incomplete\":%zu}\n"
            : "hosts %zu, %.0f bytes, seed %llu, deaths %zu: %.2f s, ideal %.2f s, ratio %.3f, Jain %.4f, slowest over "
              "mean %.3f, last percent %.2f s, core used %.3f, lost %llu, sent again %llu, at most %llu a shard, "
              "incomplete %zu\n";
    std::printf(form, options.setup.hosts, options.bytes, static_cast<unsigned long long>(options.setup.seed),
                options.setup.deaths, f.seconds, f.ideal_seconds, f.seconds / f.ideal_seconds, f.fairness,
                f.slowest_over_mean, f.last_percent_seconds, f.core_use, lost, again, most, f.incomplete);
}

}  // namespace

int main(int argc, char** argv) {
    FleetOptions options;
    CLI::App app{"One dataset by many hosts through one line, in virtual time"};
    define(app, options);
    try {
        app.parse(argc, argv);
        FleetSetup& setup = options.setup;
        setup.core_bits_per_second = bits_of("--core", options.core);
        setup.access_bits_per_second = bits_of("--access", options.access);
        setup.bytes = static_cast<std::uint64_t>(options.bytes);
        setup.rtt = from_seconds(options.rtt_ms / 1e3);
        setup.back_after = from_seconds(options.back_seconds);
        Fleet fleet(setup);
        const FleetFigures figures = fleet.run(from_seconds(options.at_most));
        print(options, figures);
        return figures.incomplete == 0 ? 0 : 1;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "udtx-sim-fleet: %s\n", error.what());
        return 2;
    }
}

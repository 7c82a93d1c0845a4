#include "rendezvous/relay_run.hpp"

#include <csignal>
#include <string>
#include <utility>

#include "common/units.hpp"

namespace udtx::apps {
namespace {

std::string describe(const RelayCounters& counters) {
    std::string line = counted(counters.claims, "code") + ", " + counted(counters.pairs, "pair") + ", " +
                       format_bytes(counters.passed_bytes) + " passed on";
    if (counters.wrong_codes > 0) line += ", " + counted(counters.wrong_codes, "wrong code");
    if (counters.refused > 0) line += ", " + counted(counters.refused, "request") + " refused";
    return line;
}

}  // namespace

Result<void> run_relay(Relay::Options options, SandboxMode mode, Log& log, SignalWaiter& signals) {
    options.report = [&log](const std::string& line) { log.info(line); };
    // The relay's thread inherits the limits. It writes no file.
    const auto sandbox = enter_sandbox(mode, {});
    if (!sandbox) return sandbox.error();
    sandbox->failed ? log.warn(sandbox->line) : log.detail(sandbox->line);
    auto relay = Relay::start(std::move(options));
    if (!relay) return relay.error();
    if (const auto sealed = seal_sandbox(mode, *sandbox); !sealed) return sealed;
    const std::string where = to_string((*relay)->address());
    log.info("listening on " + where + "/udp and " + where + "/tcp, as a relay");
    for (;;) {
        const auto signal = signals.wait(std::chrono::hours(1));
        if (!signal) continue;
        if (*signal == SIGHUP) continue;  // a relay has no keys that it could read again
        log.info("stops because of " + std::string(signal_name(*signal)));
        break;
    }
    log.info(describe((*relay)->stop()));
    return {};
}

}  // namespace udtx::apps

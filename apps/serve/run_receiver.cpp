#include "serve/run_receiver.hpp"

#include <string>

#include "common/text.hpp"
#include "sandbox/sandbox.hpp"
#include "serve/server_run.hpp"
#include "serve/setup.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {
namespace {

/// Enters the sandbox, and logs its limits.
Result<Sandbox> confine(const RecvRun& run, const SandboxPlaces& places) {
    auto sandbox = enter_sandbox(run.command.sandbox, places);
    if (!sandbox) return sandbox;
    sandbox->failed ? run.log.warn(sandbox->line) : run.log.detail(sandbox->line);
    for (const PlaceLeftOut& place : sandbox->left_out) {
        const std::string line = "the sandbox forbids writing to " + place.path + ": " + place.why;
        // The directory existed a moment ago, so its loss is an error. A missing directory of a key affects only that
        // key.
        if (place.path == run.command.directory) return Error{ErrorCode::file_io, line};
        run.log.warn(line);
    }
    return sandbox;
}

}  // namespace

FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&)) {
    const RecvCommand& command = run.command;
    const bool write = command.authorized_keys.empty();
    if (const auto checked = command.to_stdout ? Result<void>() : transfer::check_served(command.directory, "", write);
        !checked) {
        return never_began(command.common, {checked.error().code, "--dir: " + checked.error().message});
    }
    AuthorizedKeys keys;
    const auto credentials = receiver_credentials(command, keys);
    if (!credentials) return never_began(command.common, credentials.error());
    if (!write && keys.all().empty()) {
        run.log.warn("--authorized-keys: " + escape_for_terminal(command.authorized_keys) +
                     " has no key, so every client is refused");
    }
    ServerRun server(run, keys);
    if (const auto opened = server.open(*credentials); !opened) return never_began(command.common, opened.error());
    if (const std::string advice = server.server().buffer_advice(); !advice.empty()) run.log.info(advice);
    if (const std::size_t threads = server.server().protocol_threads(); threads < command.protocol_threads) {
        run.log.warn("--protocol-threads " + std::to_string(command.protocol_threads) + ": only " +
                     std::to_string(threads) + " serves, because the system does not let more sockets share the port" +
                     (command.inherited_socket < 0 ? "" : " (fd:N of another user: give --listen a port instead)"));
    }
    if (const auto opened = server.open_files(); !opened) return never_began(command.common, opened.error());
    // Enter the sandbox before the first thread starts, because threads inherit its limits, and after everything
    // outside it is open.
    const SandboxPlaces places = places_of(command, keys);
    const auto sandbox = confine(run, places);
    if (!sandbox) return never_began(command.common, sandbox.error());
    if (const auto observed = server.observe(); !observed) return never_began(command.common, observed.error());
    if (const auto sealed = seal_sandbox(command.sandbox, *sandbox); !sealed) {
        return never_began(command.common, sealed.error());
    }
    if (sandbox->confined) server.note_places(places.trees);
    if (const auto started = server.start(); !started) return never_began(command.common, started.error());
    run.log.info("listening on " + to_string(server.server().local_address()) + "/udp, writing to " +
                 (command.to_stdout ? "standard output" : command.directory));
    const bool wound_up = server.serve();
    FinalReport report = server.report();
    if (wound_up) server.stop();
    server.stop_observing();
    if (!wound_up || report.code == ExitCode::interrupted) {
        server.discard_receipt();
        leave(run, report);
    }
    return report;
}

}  // namespace udtx::apps

#include "serve/run_receiver.hpp"

#include <string>

#include "common/transport.hpp"
#include "observe/receipt.hpp"
#include "sandbox/sandbox.hpp"
#include "serve/server.hpp"
#include "serve/setup.hpp"
#include "transfer/disk_pool.hpp"

namespace udtx::apps {
namespace {

/// The sandbox, and what it does not do, said in the log.
Result<Sandbox> confine(const RecvRun& run, const SandboxPlaces& places) {
    auto sandbox = enter_sandbox(run.command.sandbox, places);
    if (!sandbox) return sandbox;
    sandbox->failed ? run.log.warn(sandbox->line) : run.log.detail(sandbox->line);
    for (const PlaceLeftOut& place : sandbox->left_out) {
        const std::string line = "the sandbox forbids to write " + place.path + ": " + place.why;
        // It was there a moment ago. Of the keys' directories one that is missing concerns its key only.
        if (place.path == run.command.directory) return Error{ErrorCode::file_io, line};
        run.log.warn(line);
    }
    return sandbox;
}

}  // namespace

FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&)) {
    const RecvCommand& command = run.command;
    if (const auto checked =
            command.to_stdout ? Result<void>() : check_directory(command.directory, command.authorized_keys.empty());
        !checked) {
        return never_began(command.common, {checked.error().code, "--dir: " + checked.error().message});
    }
    AuthorizedKeys keys;
    const auto credentials = receiver_credentials(command, keys);
    if (!credentials) return never_began(command.common, credentials.error());
    // What a receiver sends are acknowledgements: its cap is for what comes, and the sender keeps to it.
    TransportConfig config = command.common.transport();
    config.max_rate = Rate::infinite();
    config.max_receive_rate = ServerObservers::first_cap(command);
    io::Driver::Options driver_options = command.common.driver();
    driver_options.socket.inherited = command.inherited_socket;
    auto transport = Transport::make(*credentials, config, driver_options);
    if (!transport) return never_began(command.common, transport.error());
    io::Driver& driver = (*transport)->driver();
    if (const auto opened = open_socket(driver, command); !opened) return never_began(command.common, opened.error());
    const auto local = driver.local_address();
    if (!local) return never_began(command.common, local.error());
    if (const std::string advice = driver.buffer_advice(); !advice.empty()) run.log.info(advice);

    const auto receipt = open_receipt(command.common.receipt_text);
    if (!receipt) return never_began(command.common, receipt.error());
    Server server(run, **transport, keys, receipt->get());
    if (const auto opened = server.open_report(); !opened) return never_began(command.common, opened.error());
    // Before the first thread, since each hands its own limits on; after all that is opened elsewhere.
    const SandboxPlaces places = places_of(command, keys);
    const auto sandbox = confine(run, places);
    if (!sandbox) return never_began(command.common, sandbox.error());
    if (const auto observed = server.observe(local->port); !observed)
        return never_began(command.common, observed.error());
    if (const auto sealed = seal_sandbox(command.sandbox, *sandbox); !sealed) {
        server.stop_observing();
        return never_began(command.common, sealed.error());
    }
    if (sandbox->confined) server.note_places(places.trees);
    server.listen();
    (*transport)->start();
    // Last, since they take what is left of a limit. Who comes before finds them at work, or finds none.
    if (const auto started = transfer::start_disk_pools(); !started) {
        (*transport)->stop(Duration::zero());
        server.stop_observing();
        return never_began(command.common, started.error());
    }
    run.log.info("listening on " + to_string(*local) + "/udp, writing to " +
                 (command.to_stdout ? "standard output" : command.directory));
    const bool wound_up = server.serve();
    FinalReport report = server.report();
    if (wound_up) (*transport)->stop(kDrainAtMost);
    server.stop_observing();
    if (!wound_up || report.code == ExitCode::interrupted) {
        if (*receipt) (*receipt)->discard();
        leave(run, report);
    }
    (*transport)->stop(kDrainAtMost);
    return report;
}

}  // namespace udtx::apps

// The report of a run on all its transfers together.
#include "serve/server_run.hpp"

#include <csignal>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

FinalReport transfer_of(std::uint64_t bytes) {
    FinalReport report;
    report.outcome.files = 1;
    report.outcome.bytes = bytes;
    report.progress.files_total = 1;
    report.progress.files_done = 1;
    report.elapsed = 2s;
    report.limits = {{Limit::network, 1.0}};
    return report;
}

}  // namespace

TEST_CASE("The report of one transfer is that of the run, and of several the sums") {
    const RecvCommand command;
    TotalReport total(command);
    CHECK(total.transfers() == 0);
    total.add(transfer_of(10));
    CHECK(total.transfers() == 1);
    CHECK(total.get().outcome.bytes == 10);
    CHECK(total.get().limits.size() == 1);
    total.add(transfer_of(5));
    CHECK(total.get().outcome.bytes == 15);
    CHECK(total.get().outcome.files == 2);
    CHECK(total.get().progress.files_done == 2);
    CHECK(total.get().elapsed == 4s);
    CHECK(total.get().limits.empty());
}

TEST_CASE("A run of dry runs alone is one") {
    const RecvCommand command;
    TotalReport total(command);
    FinalReport dry = transfer_of(0);
    dry.dry_run = true;
    total.add(dry);
    CHECK(total.get().dry_run);
    total.add(dry);
    CHECK(total.get().dry_run);
    total.add(transfer_of(1));
    CHECK_FALSE(total.get().dry_run);
    total.add(dry);
    CHECK_FALSE(total.get().dry_run);
}

TEST_CASE("A run that was interrupted says by what, and how far it had come") {
    const RecvCommand command;
    TotalReport total(command);
    SECTION("before anybody came") {
        total.interrupted_by(SIGINT);
        CHECK(total.get().error == "interrupted by SIGINT: no transfer was running");
    }
    SECTION("after two transfers") {
        total.add(transfer_of(10));
        total.add(transfer_of(5));
        total.interrupted_by(SIGTERM);
        CHECK(total.get().error.starts_with("interrupted by SIGTERM: "));
        CHECK(total.get().error.ends_with(" in 2 transfers"));
    }
    CHECK(total.get().code == ExitCode::interrupted);
}

TEST_CASE("A run that went on to the end of its transfers is good, whatever became of each") {
    const RecvCommand command;
    TotalReport total(command);
    FinalReport failed = transfer_of(1);
    failed.code = ExitCode::partial;
    failed.error = "one file was not received";
    total.add(failed);
    total.drained();
    CHECK(total.get().code == ExitCode::ok);
    CHECK(total.get().error.empty());
}

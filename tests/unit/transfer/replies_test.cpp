#include "transfer/job/confirmation.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/job/send_job.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

/// A tree with a link and two files, all of which have been read.
struct RepliesRig {
    explicit RepliesRig(const SendOptions& how = {}) : options(how) {
        fs::create_directory(temp / "tree");
        fs::create_symlink("one", temp / "tree/link");
        write_file(temp / "tree/one", "1");
        write_file(temp / "tree/two", "22");
        reading.emplace(open_sources({(temp / "tree").string()}).value(), false, options, run, waker, report);
        reading->answers().presume_nothing();
        reading->start(false);
        replies.emplace(options, *reading, report);
    }
    void send_all() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!replies->all_sent()) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            const auto item = reading->next();
            if (!item) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (item && item->finish) replies->expect_confirmation(*item->finish);
            if (item && item->finish) root = item->finish->root;
        }
    }
    [[nodiscard]] static message::Totals all() {
        message::Totals totals;
        totals.files = totals.files_done = 2;
        totals.directories = totals.links = 1;
        totals.bytes = totals.written_bytes = 3;
        return totals;
    }

    TemporaryDirectory temp;
    SendOptions options;
    SendRun run;
    LateWaker waker;
    JobReport report;
    std::optional<ReadingTask> reading;
    std::optional<Confirmation> replies;
    Digest root;
};

}  // namespace

TEST_CASE("a receiver confirms what was sent, and the counts are the outcome") {
    RepliesRig rig;
    rig.send_all();
    REQUIRE(rig.replies->take(message::Confirm{rig.all(), rig.root}));
    CHECK(rig.replies->confirmed());
    REQUIRE(rig.replies->last_word());
    CHECK(rig.replies->last_word()->ok());
    const Outcome outcome = rig.report.outcome();
    CHECK(outcome.exact);
    CHECK(outcome.files == 2);
    CHECK(outcome.directories == 1);
    CHECK(outcome.links == 1);
    CHECK(outcome.bytes == 3);
}

TEST_CASE("a confirmation of something else than what was sent breaks the protocol") {
    message::Totals totals = RepliesRig::all();
    SECTION("more files") { ++totals.files; }
    SECTION("more files that need nothing more") { ++totals.files_done; }
    SECTION("more directories") { totals.directories = 3; }
    SECTION("more links") { ++totals.links; }
    SECTION("fewer files") { --totals.files_done; }
    SECTION("fewer directories") { totals.directories = 0; }
    SECTION("something was deleted") { totals.erased = 1; }
    SECTION("a failure that was not told") { totals.failures = 1; }
    RepliesRig rig;
    rig.send_all();
    const auto taken = rig.replies->take(message::Confirm{totals, rig.root});
    const Result<void> status = taken ? rig.replies->last_word().value() : taken;
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::protocol);
}

TEST_CASE("a confirmation is of the same content, and comes when all was sent") {
    RepliesRig rig;
    const auto early = rig.replies->take(message::Confirm{rig.all(), {}});
    REQUIRE_FALSE(early);
    CHECK(early.error().code == ErrorCode::protocol);
    rig.send_all();
    REQUIRE(rig.replies->take(message::Confirm{rig.all(), Hasher(HashAlgorithm::xxh3_128).finish()}));
    CHECK(rig.replies->last_word()->error().code == ErrorCode::integrity);
}

TEST_CASE("files that were there or were to stay count as what was sent") {
    RepliesRig rig;
    rig.send_all();
    message::Totals totals = rig.all();
    totals.files = totals.links = 0;
    totals.unchanged = 2;
    totals.skipped = 1;
    REQUIRE(rig.replies->take(message::Confirm{totals, rig.root}));
    CHECK(rig.replies->last_word()->ok());
}

TEST_CASE("with a failure at the receiver the transfer is partial, and the digests may differ") {
    RepliesRig rig;
    rig.send_all();
    const auto code = static_cast<std::uint64_t>(close_code_for(ErrorCode::file_io));
    REQUIRE(rig.replies->take(message::FileFailed{2, code, "tree/one", "no room"}));
    message::Totals totals = rig.all();
    totals.failures = totals.files = totals.files_done = 1;
    REQUIRE(rig.replies->take(message::Confirm{totals, {}}));
    CHECK(rig.replies->last_word()->error().code == ErrorCode::partial);
    REQUIRE(rig.report.outcome().failed.size() == 1);
    CHECK(rig.report.outcome().failed.front().reason == "receiver: no room");
}

TEST_CASE("with a failure of something that was not sent the digests may differ, too") {
    RepliesRig rig;
    rig.send_all();
    const auto code = static_cast<std::uint64_t>(close_code_for(ErrorCode::file_io));
    REQUIRE(rig.replies->take(message::FileFailed{kNoEntry, code, "tree/old", "not deleted"}));
    REQUIRE(rig.replies->take(message::Confirm{rig.all(), {}}));
    CHECK(rig.replies->last_word()->error().code == ErrorCode::partial);
}

TEST_CASE("only where --delete was asked for is anything deleted") {
    RepliesRig plain;
    CHECK_FALSE(plain.replies->take(message::Erased{{"tree/old"}}));
    SendOptions options;
    options.what.erase = true;
    std::string erased;
    options.planned = [&](const PlannedEntry& entry) { erased = entry.path; };
    RepliesRig rig(options);
    REQUIRE(rig.replies->take(message::Erased{{"tree/old/"}}));
    CHECK(erased == "tree/old");
}

TEST_CASE("what only a sender says is no reply") {
    RepliesRig rig;
    CHECK_FALSE(rig.replies->take(message::Finish{}));
    CHECK_FALSE(rig.replies->take(message::Accept{kOldestTransferVersion - 1}));
    CHECK(rig.replies->take(message::Accept{kTransferVersion + 1}));
    CHECK(rig.replies->take(message::Accept{}));
    REQUIRE(rig.replies->take(message::Stopped{0, "no\nmore", rig.all()}));
    CHECK(rig.replies->last_word()->error().message.starts_with("receiver: no"));
    CHECK_FALSE(rig.replies->confirmed());
}

TEST_CASE("a job never returns to an earlier stage, and the last one is final") {
    for (const auto& step : kJobSteps) CHECK(step.from < step.to);
    for (auto from = JobStage::opening; from < JobStage::ended; from = JobStage(static_cast<int>(from) + 1)) {
        CHECK(std::ranges::count_if(
                  kJobSteps, [&](const auto& step) { return step.from == from && step.to == JobStage::ended; }) == 1);
    }
    JobLife life;
    life.enter(JobStage::running);
    CHECK(life.goes_on());
    life.enter(JobStage::stopping);
    CHECK_FALSE(life.goes_on());
    CHECK(life == JobStage::stopping);
}

#include "transfer/source/outgoing.hpp"

#include <string>
#include <vector>

#include "test/catch.hpp"
#include "transfer/message/message_codec.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

using Kind = PlannedEntry::Kind;

struct DryPlanRig {
    explicit DryPlanRig(bool dry_run = true) {
        options.what.dry_run = dry_run;
        options.what.hard_links = true;
        options.planned = [this](const PlannedEntry& entry) { planned.push_back(entry); };
    }
    static ScannedEntry entry(EntryType type, const std::string& path, const std::string& target = "") {
        ScannedEntry out;
        out.type = type;
        out.path = path;
        out.size = 5;
        out.target = target;
        return out;
    }
    /// The planned entry for a directory or link, given what the receiver has.
    PlannedEntry unread(const ScannedEntry& entry, Holding has, std::uint8_t changes = 0) {
        announcer.plan_unread(entry, has, changes);
        REQUIRE_FALSE(planned.empty());
        return planned.back();
    }

    SendOptions options;
    ReadRun run;
    LateWaker waker;
    JobReport report;
    OutgoingQueue outgoing;
    OutgoingPacker packer{outgoing, waker};
    std::vector<PlannedEntry> planned;
    std::vector<SourceRoot> roots;
    Announcer announcer{roots, options, run, packer, report};
};

}  // namespace

TEST_CASE("what would be done counts as if it were done") {
    const auto counted = [](Kind kind, EntryType type, std::uint8_t changes = 0) {
        Progress progress;
        Outcome outcome;
        count_planned({kind, type, changes, "p", 5}, progress, outcome);
        return std::vector<std::uint64_t>{outcome.files,     outcome.bytes,   outcome.directories, outcome.links,
                                          outcome.unchanged, outcome.skipped, progress.files_done};
    };
    using Counts = std::vector<std::uint64_t>;
    CHECK(counted(Kind::send, EntryType::file) == Counts{1, 5, 0, 0, 0, 0, 1});
    CHECK(counted(Kind::update, EntryType::file) == Counts{1, 5, 0, 0, 0, 0, 1});
    CHECK(counted(Kind::unchanged, EntryType::file) == Counts{0, 0, 0, 0, 1, 0, 1});
    CHECK(counted(Kind::skip, EntryType::file) == Counts{0, 0, 0, 0, 0, 1, 1});
    CHECK(counted(Kind::make, EntryType::hard_link) == Counts{1, 0, 0, 0, 0, 0, 1});
    CHECK(counted(Kind::make, EntryType::symlink) == Counts{0, 0, 0, 1, 0, 0, 0});
    CHECK(counted(Kind::make, EntryType::directory) == Counts{0, 0, 1, 0, 0, 0, 0});
    CHECK(counted(Kind::unchanged, EntryType::directory, change::kTime) == Counts{0, 0, 1, 0, 0, 0, 0});
    CHECK(counted(Kind::unchanged, EntryType::directory) == Counts{0, 0, 0, 0, 0, 0, 0});
    CHECK(counted(Kind::skip, EntryType::directory) == Counts{0, 0, 0, 0, 0, 1, 0});
}

TEST_CASE("a file that is new would be sent, and another one updated") {
    DryPlanRig rig;
    rig.announcer.plan_changed(rig.entry(EntryType::file, "new"), change::kNew);
    rig.announcer.plan_changed(rig.entry(EntryType::file, "other"), change::kContent | change::kTime);
    REQUIRE(rig.planned.size() == 2);
    CHECK(rig.planned[0].kind == Kind::send);
    CHECK(rig.planned[1].kind == Kind::update);
    CHECK(rig.planned[1].changes == (change::kContent | change::kTime));
    CHECK(rig.report.outcome().files == 2);
    CHECK(rig.report.outcome().bytes == 10);
}

TEST_CASE("of directories and links it counts what the receiver has") {
    DryPlanRig rig;
    const ScannedEntry link = rig.entry(EntryType::symlink, "link", "anywhere");
    CHECK(rig.unread(link, Holding::nothing, change::kNew).kind == Kind::make);
    CHECK(rig.planned.back().target == "anywhere");
    CHECK(rig.unread(link, Holding::same, change::kTime).kind == Kind::unchanged);
    CHECK(rig.planned.back().changes == change::kTime);
    CHECK(rig.unread(link, Holding::exists).kind == Kind::skip);
    const std::size_t before = rig.planned.size();
    rig.announcer.plan_unread(link, Holding::blocked, 0);
    CHECK(rig.planned.size() == before);
}

TEST_CASE("another name of a file that would be replaced is made anew") {
    DryPlanRig rig;
    rig.announcer.plan_changed(rig.entry(EntryType::file, "replaced"), change::kContent);
    rig.announcer.plan(Kind::unchanged, rig.entry(EntryType::file, "stays"), 0);
    const auto stale = rig.unread(rig.entry(EntryType::hard_link, "a", "replaced"), Holding::same);
    CHECK(stale.kind == Kind::make);
    CHECK(stale.changes == change::kContent);
    CHECK(rig.unread(rig.entry(EntryType::hard_link, "b", "stays"), Holding::same).kind == Kind::unchanged);
}

TEST_CASE("the receiver hears of a plan that it asked for, and nobody of one outside of a dry run") {
    const auto told = [](DryPlanRig& rig) {
        rig.announcer.plan(Kind::send, rig.entry(EntryType::file, "f"), change::kNew);
        rig.packer.flush();
        MessageReader reader;
        while (auto out = rig.outgoing.try_pop()) reader.feed(out->control);
        const auto next = reader.next();
        REQUIRE(next);
        return next->has_value() && std::holds_alternative<message::Plan>(**next);
    };
    DryPlanRig ours;
    CHECK_FALSE(told(ours));
    CHECK(ours.planned.size() == 1);
    DryPlanRig theirs;
    theirs.run.asked_for = true;
    CHECK(told(theirs));
    DryPlanRig none(false);
    none.run.asked_for = true;
    CHECK_FALSE(told(none));
    CHECK(none.planned.empty());
    CHECK(none.report.progress().files_done == 0);
}

#include "transfer/landing/eraser.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "recording_report.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

struct Rig {
    explicit Rig(bool dry_run = false) : root(ConfinedDir::open(temp.path().string()).value()) {
        eraser.emplace(root, claims, report, dry_run ? nullptr : &lent);
        fs::create_directories(temp / "sent/inside");
        fs::create_directories(temp / "sent/old/deep");
        fs::create_directories(temp / "beside");
        fs::create_directory_symlink(temp / "beside", temp / "sent/link");
        for (const char* name : {"sent/kept", "sent/gone", "sent/inside/gone", "sent/old/deep/gone", "sent/old/x.keep",
                                 "beside/theirs", "sent/.f.udtx-0123456789abcdef.part"}) {
            write_file(temp / name, "x");
        }
        eraser->keep("sent", true);
    }
    [[nodiscard]] bool there(const std::string& path) const { return fs::exists(fs::symlink_status(temp / path)); }

    TemporaryDirectory temp;
    ConfinedDir root;
    EntryClaims claims{root};
    LentRights lent{root, nullptr};
    RecordingReport report;
    std::set<std::string>& erased = report.erased;
    std::optional<Eraser> eraser;
};

Result<void> run(Eraser& eraser) {
    auto begun = eraser.begin();
    while (begun && eraser.go_on()) {
    }
    return begun;
}

}  // namespace

TEST_CASE("what the sender does not have goes, below the directories that it sent, and nothing else") {
    Rig rig;
    rig.eraser->keep("sent/kept", false);
    rig.eraser->keep("sent/inside", true);
    REQUIRE(rig.eraser->add({false, {{false, "*.keep"}}}).ok());
    REQUIRE(run(*rig.eraser).ok());
    CHECK(rig.erased ==
          std::set<std::string>{"sent/gone", "sent/inside/gone", "sent/link", "sent/old/deep/", "sent/old/deep/gone"});
    CHECK(rig.report.failures.empty());
    CHECK(rig.there("sent/kept"));
    CHECK(rig.there("sent/old/x.keep"));  // excluded, so its directory stays as well
    CHECK(rig.there("sent/.f.udtx-0123456789abcdef.part"));
    CHECK(rig.there("beside/theirs"));  // only the link was erased, its target stays
    CHECK_FALSE(rig.there("sent/old/deep"));
}

TEST_CASE("a dry run names the same and takes nothing away") {
    Rig rig(true);
    rig.eraser->keep("sent/kept", false);
    REQUIRE(run(*rig.eraser).ok());
    CHECK(rig.erased.count("sent/inside/") == 1);
    CHECK(rig.erased.count("sent/old/x.keep") == 1);
    CHECK(rig.there("sent/gone"));
    CHECK(rig.there("sent/old/deep/gone"));
}

TEST_CASE("a sender that has nothing deletes nothing") {
    SECTION("an empty directory") {
        Rig rig;
        CHECK(run(*rig.eraser).error().code == ErrorCode::refused);
        CHECK(rig.there("sent/gone"));
    }
    SECTION("the contents of one") {
        const TemporaryDirectory temp;
        write_file(temp / "f", "x");
        const auto root = ConfinedDir::open(temp.path().string());
        RecordingReport report;
        EntryClaims claims(*root);
        LentRights lent(*root, nullptr);
        Eraser eraser(*root, claims, report, &lent);
        REQUIRE(eraser.add({true, {}}).ok());
        CHECK_FALSE(run(eraser).ok());
        CHECK(report.erased.empty());
    }
}

TEST_CASE("a deletion can rest after each entry, and a tree that is deleted is no exception") {
    Rig rig;
    for (const char* directory : {"sent/old", "sent/old/deep"}) {
        for (int i = 0; i < 20; ++i) write_file(rig.temp / directory / ("more" + std::to_string(i)), "x");
    }
    rig.eraser->keep("sent/kept", false);
    REQUIRE(rig.eraser->begin().ok());
    std::size_t before = 0;
    std::size_t most = 0;
    while (rig.eraser->go_on()) {
        most = std::max(most, rig.erased.size() - before);
        before = rig.erased.size();
    }
    CHECK(most == 1);
    CHECK(rig.erased.count("sent/old/deep/") == 1);
    CHECK_FALSE(rig.there("sent/old"));
    CHECK_FALSE(rig.eraser->go_on());
}

TEST_CASE("a deletion that is stopped midway takes nothing more away") {
    Rig rig;
    rig.report.most_erased = 2;
    rig.eraser->keep("sent/kept", false);
    REQUIRE(run(*rig.eraser).ok());
    CHECK(rig.erased.size() == 2);
    CHECK(rig.eraser->clear(rig.root.fd(), "sent", "sent") == Cleared::nothing);
    CHECK(rig.erased.size() == 2);
}

TEST_CASE("more rules than a sender may have break the protocol") {
    Rig rig;
    message::Rules many;
    for (std::size_t i = 0; i <= kMaxFilterRules; ++i) many.rules.push_back({false, "r" + std::to_string(i)});
    CHECK(rig.eraser->add(many).error().code == ErrorCode::protocol);
}

TEST_CASE("what the sender has and does not send stays, whatever it is here, and is not what a source holds") {
    Rig rig;
    rig.eraser->keep("sent/kept", false);
    rig.eraser->keep_unsent("sent/gone");
    rig.eraser->keep_unsent("sent/old");
    REQUIRE(run(*rig.eraser).ok());
    CHECK(rig.erased == std::set<std::string>{"sent/inside/", "sent/inside/gone", "sent/link"});
    CHECK(rig.there("sent/gone"));
    CHECK(rig.there("sent/old/deep/gone"));
    Rig empty;
    empty.eraser->keep_unsent("sent/gone");
    CHECK_FALSE(run(*empty.eraser).ok());
}

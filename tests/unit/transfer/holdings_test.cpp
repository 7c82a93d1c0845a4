#include "transfer/landing/old_content.hpp"

#include <sys/stat.h>

#include <string>

#include "target_tree_rig.hpp"
#include "test/catch.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/pieces.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

struct HoldingsRig : TargetTreeRig {
    explicit HoldingsRig(const TreeSetup& how = {}) : TargetTreeRig(how), holdings(*tree) {}

    /// Asks about a file of that size with the modification time of the existing file.
    message::Answer ask(const std::string& path, std::uint64_t size, bool as_old = true) {
        struct stat st = {};
        message::Query query{7, split_path(path), size, {}, 0644};
        if (::lstat((temp / path).c_str(), &st) == 0 && as_old) query.mtime = mtime_of(st);
        message::Answer all;
        const auto hear = [&](const message::Answer& answer) {
            CHECK(answer.number == 7);
            ++answers;
            all.has = answer.has;
            all.pieces.insert(all.pieces.end(), answer.pieces.begin(), answer.pieces.end());
        };
        holdings.answer(query, hear);
        while (holdings.go_on(hear)) {
        }
        return all;
    }

    int answers = 0;
    Holdings holdings;
};

}  // namespace

TEST_CASE("of a file of that size and time it is said that it is the same, and it counts as that") {
    HoldingsRig rig;
    write_file(rig.temp / "f", "content");
    CHECK(rig.ask("f", 7).has == Holding::same);
    CHECK(rig.unchanged == 1);
    CHECK(rig.ask("none", 7).has == Holding::nothing);
    CHECK(rig.ask("../f", 7).has == Holding::nothing);
    CHECK(rig.unchanged == 1);
    CHECK(rig.answers == 3);
    CHECK(rig.failed.empty());
}

TEST_CASE("of a changed file the pieces are told, and whether they are all of it") {
    HoldingsRig rig;
    write_file(rig.temp / "f", random_content(kPieceBytes + 5, 1));
    const auto as_long = rig.ask("f", kPieceBytes + 5, false);
    CHECK(as_long.has == Holding::all_pieces);
    CHECK(as_long.pieces.size() == 2);
    const auto longer = rig.ask("f", kPieceBytes + 6, false);
    CHECK(longer.has == Holding::last_pieces);
    REQUIRE(longer.pieces.size() == 1);
    CHECK(longer.pieces.front() == as_long.pieces.front());
    CHECK(rig.unchanged == 0);
}

TEST_CASE("what is not to be overwritten exists, whatever it is") {
    TreeSetup setup;
    setup.offer.overwrite = Overwrite::never;
    HoldingsRig rig(setup);
    write_file(rig.temp / "f", "content");
    fs::create_directory(rig.temp / "directory");
    write_file(rig.temp / "directory/f", "content");
    CHECK(rig.ask("f", 9).has == Holding::exists);
    CHECK(rig.ask("directory", 9).has == Holding::exists);
    CHECK(rig.ask("new", 9).has == Holding::nothing);
    CHECK(rig.skipped == 2);
    CHECK(rig.failed.empty());
}

TEST_CASE("a directory with something in it blocks a file of its name, but where it is going to be emptied") {
    TreeSetup setup;
    SECTION("it stays") {}
    SECTION("it goes") { setup.offer.erase = true; }
    HoldingsRig rig(setup);
    fs::create_directories(rig.temp / "full/sub");
    fs::create_directory(rig.temp / "empty");
    CHECK(rig.ask("full", 7).has == (setup.offer.erase ? Holding::nothing : Holding::blocked));
    CHECK(rig.failed == (setup.offer.erase ? std::vector<std::string>{} : std::vector<std::string>{"full"}));
    CHECK(rig.ask("empty", 7).has == Holding::nothing);
}

TEST_CASE("what was asked about is not deleted") {
    TreeSetup setup;
    setup.offer.erase = true;
    HoldingsRig rig(setup);
    rig.tree->eraser->keep("d", true);
    fs::create_directory(rig.temp / "d");
    write_file(rig.temp / "d/asked", "content");
    write_file(rig.temp / "d/old", "content");
    CHECK(rig.ask("d/asked", 7).has == Holding::same);
    REQUIRE(rig.tree->eraser->begin());
    while (rig.tree->eraser->go_on()) {
    }
    CHECK(fs::exists(rig.temp / "d/asked"));
    CHECK_FALSE(fs::exists(rig.temp / "d/old"));
}

TEST_CASE("what stays by one of the first answers is known when it comes, but not as another version") {
    TreeSetup setup;
    const test::TemporaryDirectory receipts;
    const bool all = GENERATE(false, true);  // a receipt names all that comes
    if (all) setup.options.receipt = ReceiptFile::create((receipts.path() / "receipt").string()).value();
    SECTION("there is no receipt") {}
    HoldingsRig rig(setup);
    write_file(rig.temp / "same", "content");
    fs::create_directories(rig.temp / "full/sub");
    struct stat st = {};
    REQUIRE(::lstat((rig.temp / "same").c_str(), &st) == 0);
    message::Entry entry;
    entry.size = 7;
    entry.mtime = mtime_of(st);
    CHECK_FALSE(rig.holdings.stays(entry, "same"));
    CHECK(rig.ask("same", 7).has == Holding::same);
    CHECK(rig.holdings.stays(entry, "same") == !all);
    CHECK(rig.unchanged == (all ? 0 : 1));
    ++entry.mtime.seconds;
    CHECK_FALSE(rig.holdings.stays(entry, "same"));
    CHECK(rig.ask("new", 7).has == Holding::nothing);
    CHECK_FALSE(rig.holdings.stays(entry, "new"));
    CHECK(rig.ask("full", 7).has == Holding::blocked);
    CHECK(rig.holdings.stays(entry, "full"));
}

TEST_CASE("what comes ahead is remembered of a few questions only") {
    TreeSetup setup;
    setup.offer.overwrite = Overwrite::never;
    HoldingsRig rig(setup);
    write_file(rig.temp / "late", "content");
    const auto ask = [&](std::uint64_t number, const std::string& path) {
        rig.holdings.answer({number, {path}, 7, {}, 0644}, [](const message::Answer&) {});
    };
    ask(kAskedEarly, "late");
    CHECK_FALSE(rig.holdings.stays({}, "late"));
    for (std::size_t i = 0; i <= kAskedEarly; ++i) {
        write_file(rig.temp / std::to_string(i), "");
        ask(0, std::to_string(i));
    }
    CHECK(rig.holdings.stays({}, std::to_string(kAskedEarly - 1)));
    CHECK_FALSE(rig.holdings.stays({}, std::to_string(kAskedEarly)));
}

#include "transfer/file/quirks/lent_rights.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "as_ordinary_user.hpp"
#include "test/catch.hpp"
#include "transfer/file/file_io.hpp"
#include "tree_writer_rig.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

void bar(const fs::path& directory) { REQUIRE(::chmod(directory.c_str(), 0555) == 0); }

std::unique_ptr<ResumeJournal> journal_in(const TemporaryDirectory& temp) {
    ResumeJournal::Opening opening(ConfinedDir::open(temp.path().string()).value(), 5, HashAlgorithm::xxh3_128, [] {});
    auto opened = std::move(*opening.attempt());
    REQUIRE(opened.journal);
    return std::move(opened.journal);
}

}  // namespace

TEST_CASE(
    "directories that were not sent and bar their owner take files, links and directories, and are barred again") {
    TreeWriterRig rig;
    const AsOrdinaryUser user(rig.temp.path());
    rig.writer.reset();
    rig.open();
    fs::create_directories(rig.temp / "a/b");
    test::write_file(rig.temp / "a/b/old", "old");
    bar(rig.temp / "a/b");
    bar(rig.temp / "a");
    bar(rig.temp.path());
    rig.file("f", "x");
    rig.file("a/b/f", "x");
    rig.file("a/b/old", "new");
    rig.entry(EntryType::symlink, "a/l", 0, "x");
    rig.entry(EntryType::hard_link, "a/h", 0, "a/b/f");
    rig.entry(EntryType::directory, "a/d");
    SECTION("to the end") { finish(*rig.writer); }
    SECTION("given up") { rig.writer->abandon(); }
    CHECK(rig.failed.empty());
    CHECK(mode_of(rig.temp.path()) == 0555U);
    CHECK(mode_of(rig.temp / "a") == 0555U);
    CHECK(mode_of(rig.temp / "a/b") == 0555U);
    CHECK(read_file(rig.temp / "a/b/old") == "new");
    CHECK(read_file(rig.temp / "f") == "x");
    for (const char* name : {"", "a", "a/b"}) ::chmod((rig.temp / name).c_str(), 0755);
}

// Another transfer restores the mode of the directory when it ends, while this one still works there.
TEST_CASE("a directory that is barred again meanwhile takes what was written into it") {
    TreeWriterRig rig;
    const AsOrdinaryUser user(rig.temp.path());
    rig.writer.reset();
    rig.open();
    fs::create_directories(rig.temp / "a");
    bar(rig.temp / "a");
    const std::uint64_t index = rig.entry(EntryType::file, "a/f", 1);
    rig.piece(index, "x");
    rig.digests(index, "x");
    bar(rig.temp / "a");
    rig.end(index, "x");
    finish(*rig.writer);
    CHECK(rig.failed.empty());
    CHECK(read_file(rig.temp / "a/f") == "x");
    CHECK(mode_of(rig.temp / "a") == 0555U);
    ::chmod((rig.temp / "a").c_str(), 0755);
}

TEST_CASE("another transfer gives a directory back what it had while this one works in it") {
    TemporaryDirectory temp;
    const AsOrdinaryUser user(temp.path());
    fs::create_directories(temp / "d");
    const auto root = ConfinedDir::open(temp.path().string());
    LentRights lent(*root, nullptr);
    int given_back = 0;
    const auto make = [&](const char* name) -> Result<void> {
        if (given_back++ < 3) bar(temp / "d");
        const UniqueFd directory = root->open_directory("d").fd;
        return ::mkdirat(directory.get(), name, 0755) == 0 ? Result<void>() : io_error("cannot make", name, errno);
    };
    CHECK(lent.with("d", [&] { return make("e"); }).ok());
    // Another transfer opens the directory just after this one failed.
    bar(temp / "d");
    given_back = 3;
    bool met = false;
    const auto opened_by_another = [&]() -> Result<void> {
        const auto done = make("f");
        if (!std::exchange(met, true)) ::chmod((temp / "d").c_str(), 0755);
        return done;
    };
    CHECK(lent.with("d", opened_by_another).ok());
    // Removing a temporary file there works as well.
    auto file = TempFile::create(*root, "d/x", 1, FileAttributes());
    REQUIRE(file.ok());
    bar(temp / "d");
    file->remove(*root);
    CHECK_FALSE(fs::exists(temp / "d" / temp_name(1)));
    CHECK(mode_of(temp / "d") == 0555U);
}

TEST_CASE("what bars its owner and is in the way goes") {
    TemporaryDirectory temp;
    const AsOrdinaryUser user(temp.path());
    fs::create_directories(temp / "sent/f/deep");
    fs::create_directories(temp / "sent/gone/deep");
    test::write_file(temp / "sent/f/deep/x", "x");
    test::write_file(temp / "sent/gone/deep/x", "x");
    for (const char* name : {"sent/f/deep", "sent/f", "sent/gone/deep", "sent/gone", "sent"}) bar(temp / name);
    const message::Offer offer{.destination = {}, .erase = true};
    const LandingOptions options;
    RecordingReport report;
    {
        TreeWriter writer(ConfinedDir::open(temp.path().string()).value(), offer, options, TreeRun(), report);
        message::Entry directory;
        directory.type = EntryType::directory;
        directory.path = {"sent"};
        directory.mode = 0555;
        writer.begin_entry(directory);
        message::Entry link;
        link.index = 1;
        link.type = EntryType::symlink;
        link.path = {"sent", "f"};
        link.target = "x";
        writer.begin_entry(link);
        finish(writer);
    }
    CHECK(report.failures.empty());
    CHECK_FALSE(report.ended_early);
    CHECK(fs::is_symlink(temp / "sent/f"));
    CHECK_FALSE(fs::exists(temp / "sent/gone"));
    CHECK(mode_of(temp / "sent") == 0555U);
    ::chmod((temp / "sent").c_str(), 0755);
}

TEST_CASE("what a killed run lent, the next one gives back") {
    TemporaryDirectory temp;
    const AsOrdinaryUser user(temp.path());
    fs::create_directories(temp / "a/b");
    bar(temp / "a/b");
    bar(temp / "a");
    {
        const auto journal = journal_in(temp);
        const auto root = ConfinedDir::open(temp.path().string());
        LentRights lent(*root, journal.get());
        CHECK(lent.lend("a/b"));
        CHECK(lent.lend("a"));
        CHECK(mode_of(temp / "a/b") == 0755U);
        CHECK_FALSE(lent.lend("a"));  // its mode was not what prevented access
    }
    {
        const auto journal = journal_in(temp);
        const auto root = ConfinedDir::open(temp.path().string());
        LentRights lent(*root, journal.get());
        CHECK(lent.owed("a") == 0555U);
        lent.owe("a", 0755);
        CHECK(lent.owed("a") == 0555U);
        lent.give_back([](const std::string&, int) { FAIL("could not be given back"); });
        CHECK(mode_of(temp / "a/b") == 0555U);
        CHECK(mode_of(temp / "a") == 0555U);
    }
    CHECK(journal_in(temp)->earlier().rights.empty());
    for (const char* name : {"a", "a/b"}) ::chmod((temp / name).c_str(), 0755);
}

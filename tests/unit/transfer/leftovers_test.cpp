#include "transfer/old/leftovers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "as_ordinary_user.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_file.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

struct Rig {
    Rig() { std::filesystem::create_directories(temp.path() / "d"); }
    [[nodiscard]] ConfinedDir root() const { return ConfinedDir::open(temp.path().string()).value(); }
    /// A journal that records an existing temporary file of d/file.
    [[nodiscard]] std::unique_ptr<ResumeJournal> journal(std::uint64_t transfer) const {
        ResumeJournal::Opening opening(root().make_subdirectory("").value(), transfer, HashAlgorithm::xxh3_128, [] {});
        auto opened = std::move(*opening.attempt());
        REQUIRE(opened.journal);
        opened.journal->begin_partial("d/file");
        opened.journal->flush();
        FileAttributes attributes;
        REQUIRE(TempFile::create(root(), "d/file", opened.journal->unique_for("d/file"), attributes).ok());
        return std::move(opened.journal);
    }
    [[nodiscard]] std::vector<std::string> names(const std::string& of) const {
        int error = 0;
        return names_in(root().subdirectory(of).value().fd(), error);
    }
    CleanCounts clean(std::int64_t days = 0, bool jobs = false) {
        removed.clear();
        kept.clear();
        return clean_leftovers(root(), {false, days, jobs},
                               {[this](const std::string& path, std::uint64_t) { removed.push_back(path); },
                                [this](const std::string& path, const std::string&) { kept.push_back(path); },
                                [](const std::string&, const Error&) {}});
    }
    test::TemporaryDirectory temp;
    std::vector<std::string> removed;
    std::vector<std::string> kept;
};

}  // namespace

TEST_CASE("what a journal knows goes with it, and stays while somebody has it") {
    Rig rig;
    auto journal = rig.journal(7);
    CHECK(rig.clean().removed == 0);
    CHECK(rig.kept.size() == 2);
    journal.reset();
    CHECK(rig.clean(1).removed == 0);  // it changed less than a day ago
    CHECK(rig.clean().removed == 2);
    CHECK(rig.names("") == std::vector<std::string>{"d"});
    CHECK(rig.names("d").empty());
}

TEST_CASE("a job that waits for shards stays with its parts of files, unless jobs are asked for") {
    Rig rig;
    constexpr std::uint64_t kJob = 5;
    const JobFile::Version file{"d/large", 2 * kCutBytes, {1, 2}};
    const auto shard = [&](std::size_t index) {
        return JobFile::open(rig.root(), {kJob, index, 2, 1}, HashAlgorithm::xxh3_128, 3).value();
    };
    {
        const auto first = shard(0);
        // Nothing is lost while no shard is done and no file has begun.
        CHECK(rig.clean().removed == 1);
    }
    {
        const auto first = shard(0);
        REQUIRE(first->begin(file, [&](bool) -> Result<JobFile::Opened> {
            FileAttributes attributes;
            REQUIRE(TempFile::create(rig.root(), "d/large", first->temporary_for("d/large"), attributes));
            return JobFile::Opened{true, {}};
        }));
        REQUIRE(first->fill(file, {0, kCutBytes}, {}, {}));
        REQUIRE(first->finish());
    }
    CHECK(rig.clean().removed == 0);
    CHECK(rig.kept.size() == 2);
    CHECK((*(*shard(1)).state()).done == 1);
    CHECK(rig.clean(0, true).removed == 2);
    CHECK(rig.names("d").empty());
}

TEST_CASE("temporary files without a journal stay while a transfer is under way above them") {
    Rig rig;
    FileAttributes attributes;
    REQUIRE(TempFile::create(rig.root(), "d/small", 3, attributes).ok());
    {
        const ConfinedDir job = rig.root();
        mark_in_use(job);
        CHECK(rig.clean().removed == 0);
        const auto below = rig.root().subdirectory("d");
        CHECK(clean_leftovers(*below, {},
                              {[](const std::string&, std::uint64_t) {}, [](const std::string&, const std::string&) {},
                               [](const std::string&, const Error&) {}})
                  .kept == 1);
    }
    CHECK(rig.clean().removed == 1);
}

TEST_CASE("above a directory that cannot be read a transfer may be under way") {
    Rig rig;
    const test::AsOrdinaryUser ordinary(rig.temp.path());
    const auto top = rig.temp.path() / "top";
    std::filesystem::create_directories(top / "below");
    const auto below = rig.root().subdirectory("top/below");
    REQUIRE(TempFile::create(*below, "small", 3, FileAttributes()).ok());
    const auto kept = [&] {
        return clean_leftovers(*below, {true, 0},
                               {[](const std::string&, std::uint64_t) {}, [](const std::string&, const std::string&) {},
                                [](const std::string&, const Error&) {}})
            .kept;
    };
    CHECK(kept() == 0);
    std::filesystem::permissions(top, std::filesystem::perms::owner_exec);
    CHECK(kept() == 1);
    std::filesystem::permissions(top, std::filesystem::perms::owner_all);
}

TEST_CASE("directories that were opened up get back what only the journal knows") {
    Rig rig;
    const bool by_age = GENERATE(false, true);
    auto journal = rig.journal(7);
    journal->add_rights("d", 0555, true);
    journal.reset();
    if (by_age) {
        CHECK(remove_old_journals(rig.root(), rig.names(""), 0) == 1);
    } else {
        CHECK(rig.clean().removed == 2);
    }
    using std::filesystem::perms;
    CHECK((std::filesystem::status(rig.temp.path() / "d").permissions() & perms::owner_write) == perms::none);
}

TEST_CASE("old journals go when another transfer comes to their directory") {
    Rig rig;
    auto journal = rig.journal(7);
    const auto sweep = [&](std::int64_t days) { return remove_old_journals(rig.root(), rig.names(""), days); };
    CHECK(sweep(0) == 0);  // in use
    journal.reset();
    CHECK(sweep(kKeepLeftoversDays) == 0);  // too new
    std::ofstream(rig.temp.path() / journal_name(9)) << "somebody else's";
    CHECK(sweep(0) == 1);
    CHECK(rig.names("") == std::vector<std::string>{journal_name(9), "d"});
    CHECK(rig.names("d").empty());
}

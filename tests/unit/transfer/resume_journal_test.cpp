#include "transfer/file/journal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "test/catch.hpp"
#include "test/fault_case.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/resume.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr std::uint64_t kTransfer = 0xabcdef;
const Digest kDigest(std::vector<std::byte>(16, std::byte{3}));

ResumeJournal::Opened open_in(
    const TemporaryDirectory& temp, std::function<void()> displaced = [] {}, std::uint64_t transfer = kTransfer,
    HashAlgorithm hash = HashAlgorithm::xxh3_128) {
    auto root = ConfinedDir::open(temp.path().string());
    ResumeJournal::Opening opening(std::move(root).value(), transfer, hash, std::move(displaced));
    for (;;) {
        if (auto opened = opening.attempt()) return std::move(*opened);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

std::filesystem::path file_of(const TemporaryDirectory& temp) { return temp.path() / journal_name(kTransfer); }

void write_one_piece(const TemporaryDirectory& temp) {
    const auto opened = open_in(temp);
    REQUIRE(opened.journal);
    opened.journal->begin_partial("big");
    opened.journal->add_pieces("big", {{0, 4096, kDigest}});
}

}  // namespace

TEST_CASE("what one run writes down the next one reads") {
    TemporaryDirectory temp;
    write_one_piece(temp);
    auto opened = open_in(temp);
    CHECK(opened.note.empty());
    CHECK(opened.journal->earlier().partials.at(path_key("big")).pieces.size() == 1);
    CHECK(opened.journal->worth_keeping());
    opened.journal->remove();
    opened.journal.reset();
    CHECK(std::filesystem::is_empty(temp.path()));
}

TEST_CASE("F60 a damaged journal is used up to the damage and goes on from there") {
    TemporaryDirectory temp;
    write_one_piece(temp);
    { std::ofstream(file_of(temp), std::ios::app | std::ios::binary) << "garbage of a torn write"; }
    auto opened = open_in(temp);
    CHECK(opened.note.find("damaged at byte") != std::string::npos);
    CHECK(opened.journal->earlier().partials.size() == 1);
    opened.journal->add_pieces("big", {{4096, 4096, kDigest}});
    opened.journal.reset();
    CHECK(open_in(temp).journal->earlier().partials.at(path_key("big")).pieces.size() == 2);
    test::fault_case(60, "a damaged journal is continued: both pieces are known",
                     open_in(temp).journal->earlier().partials.at(path_key("big")).pieces.size(), " pieces");
}

TEST_CASE("F65 a journal that is not of this transfer, or of another hash, is not believed, and says why") {
    TemporaryDirectory temp;
    SECTION("garbage") {
        { std::ofstream(file_of(temp)) << "no journal at all, but long enough for a few records"; }
        const auto opened = open_in(temp);
        CHECK(opened.note.find("damaged") != std::string::npos);
        CHECK(opened.journal->earlier().empty());
        test::fault_case(65, "a journal of random bytes: ignored, with the reason", opened.note);
    }
    SECTION("another hash") {
        write_one_piece(temp);
        const auto opened = open_in(
            temp, [] {}, kTransfer, HashAlgorithm::sha256);
        CHECK(opened.note.find("another checksum") != std::string::npos);
        CHECK(opened.journal->earlier().empty());
        test::fault_case(65, "a journal of another hash: ignored, with the reason", opened.note);
    }
    SECTION("another transfer's") {
        write_one_piece(temp);
        std::filesystem::rename(file_of(temp), temp.path() / journal_name(kTransfer + 1));
        const auto opened = open_in(
            temp, [] {}, kTransfer + 1);
        CHECK_FALSE(opened.note.empty());
        CHECK(opened.journal->earlier().empty());
    }
    SECTION("a FIFO in its place") {
        REQUIRE(::mkfifo(file_of(temp).c_str(), 0600) == 0);
        const auto opened = open_in(temp);
        CHECK_FALSE(opened.journal);
        CHECK(opened.note.find("no resume") != std::string::npos);
    }
    SECTION("another user's") {
        if (::geteuid() != 0) return;  // only root can create one
        write_one_piece(temp);
        REQUIRE(::chown(file_of(temp).c_str(), 65534, 65534) == 0);
        const auto size = std::filesystem::file_size(file_of(temp));
        const auto opened = open_in(temp);
        CHECK_FALSE(opened.journal);
        CHECK(opened.note.find("no resume") != std::string::npos);
        CHECK(std::filesystem::file_size(file_of(temp)) == size);
    }
    SECTION("a link in its place") {
        std::filesystem::create_symlink("elsewhere", file_of(temp));
        const auto opened = open_in(temp);
        CHECK_FALSE(opened.journal);
        CHECK(opened.note.find("no resume") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(temp.path() / "elsewhere"));
        test::fault_case(49, "a link in place of the journal: not followed, no resume", opened.note);
    }
}

TEST_CASE("a second run of the same transfer takes it over from the first") {
    TemporaryDirectory temp;
    std::atomic<bool> displaced{false};
    auto first = open_in(temp, [&] { displaced = true; });
    std::thread owner([&] {
        while (!displaced) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        first.journal.reset();
    });
    const auto second = open_in(temp);
    owner.join();
    CHECK(second.journal);
}

TEST_CASE("removing the journal takes its temporary files along and no other's") {
    TemporaryDirectory temp;
    const auto opened = open_in(temp);
    opened.journal->begin_partial("big");
    const auto ours = temp.path() / temp_name(opened.journal->unique_for("big"));
    const auto others = temp.path() / temp_name(42);
    { std::ofstream(ours) << "x"; }
    { std::ofstream(others) << "x"; }
    opened.journal->remove();
    CHECK_FALSE(std::filesystem::exists(ours));
    CHECK(std::filesystem::exists(others));
}

TEST_CASE("the same command has the same number, another one another") {
    const auto base = transfer_number("host", "/home/me", {"a", "b"}, "to/");
    CHECK(base == transfer_number("host", "/home/me", {"a", "./b"}, "/to"));
    CHECK(base == transfer_number("host", "/", {"/home/me/a", "home/me/b"}, "to"));
    CHECK(base != transfer_number("other", "/home/me", {"a", "b"}, "to"));
    CHECK(base != transfer_number("host", "/home/you", {"a", "b"}, "to"));
    CHECK(base != transfer_number("host", "/home/me", {"a"}, "to"));
    CHECK(base != transfer_number("host", "/home/me", {"a", "b"}, "too"));
    CHECK(base != transfer_number("host", "/home/me", {"a/", "b"}, "to"));
}

// The memory that a sender can make the tree writer use is bounded in bytes, for any number of entries.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include "test/catch.hpp"
#include "tree_writer_rig.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

std::uint64_t resident_bytes() {
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Checks that memory grew by at most `most`. With a sanitizer it checks nothing.
void check_grown(std::uint64_t before, std::uint64_t most) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (before == 0) return;  // without /proc there is no measurement
    const std::uint64_t now = resident_bytes();
    CHECK(now < before + most);
#else
    static_cast<void>(before);
    static_cast<void>(most);
#endif
}

std::string deep_name() {
    std::string out;
    for (int i = 0; i < 19; ++i) out += std::string(200, 'd') + "/";
    return out;
}

}  // namespace

TEST_CASE("files that are begun and never finished: those too many fail by name, and the others come") {
    TreeWriterRig rig;
    const std::string deep = deep_name();
    const std::uint64_t before = resident_bytes();
    constexpr std::uint64_t kFiles = 60'000;
    for (std::uint64_t i = 0; i < kFiles; ++i)
        static_cast<void>(rig.entry(EntryType::file, deep + std::to_string(i), 1));
    check_grown(before, 400 * kMiB);  // includes the names of failed files, which the rig keeps
    CHECK(rig.failed.size() > kFiles / 2);
    CHECK(rig.failed.size() < kFiles - 1000);
    CHECK(std::ranges::count(rig.codes, ErrorCode::refused) == static_cast<std::ptrdiff_t>(rig.failed.size()));
    // Files that end free memory for others.
    for (std::uint64_t i = 0; i < 1000; ++i) rig.end(i, "x", FileStatus::changed);
    const auto failed = rig.failed.size();
    rig.file("small", "x");
    CHECK(rig.failed.size() == failed);
    finish(*rig.writer);
    CHECK(std::filesystem::exists(rig.temp / "small"));
}

TEST_CASE("a file of pieces whose digests are withheld fails before it has filled the memory") {
    TreeWriterRig rig;
    constexpr std::uint64_t kPieces = 800'000;
    const std::uint64_t before = resident_bytes();
    const std::uint64_t index = rig.entry(EntryType::file, "f", kPieces);
    for (std::uint64_t i = 0; i < kPieces && rig.failed.empty(); ++i) {
        const Piece piece{index, i, i, 1, i};
        rig.writer->files().write_piece({piece, Chunk::copy_of(std::as_bytes(std::span("x", 1)))});
    }
    check_grown(before, 100 * kMiB);
    REQUIRE(rig.failed.size() == 1);
    CHECK(rig.codes.front() == ErrorCode::refused);
}

TEST_CASE("more directories than can be remembered are made, and said to lack their mode and time") {
    TreeWriterRig rig(true);
    std::string deep = deep_name();
    for (std::size_t slash = deep.find('/'); slash != std::string::npos; slash = deep.find('/', slash + 1)) {
        rig.entry(EntryType::directory, deep.substr(0, slash));
    }
    rig.mode = 0;
    const std::uint64_t before = resident_bytes();
    constexpr std::uint64_t kDirectories = 37'000;
    std::size_t delivered = 0;
    const auto count = [&] {
        const std::lock_guard lock(rig.report.mutex);
        delivered += rig.delivered.size();
        rig.delivered.clear();
    };
    for (std::uint64_t i = 0; i < kDirectories; ++i) {
        rig.entry(EntryType::directory, deep + std::to_string(i));
        if (i % 1000 == 0) count();
    }
    check_grown(before, 400 * kMiB);  // includes entries that wait for their commit, and the rig
    CHECK(rig.failed.empty());
    CHECK(rig.unset.size() > 1000);
    CHECK(rig.unset.size() < kDirectories);
    finish(*rig.writer);
    count();
    CHECK(delivered == kDirectories + 19);
}

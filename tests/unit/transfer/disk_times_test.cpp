#include "transfer/file/quirks/disk_times.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/file_io.hpp"
#include "udtx/descriptor.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

/// Creates a file with a given time in a directory.
struct Rig {
    Rig() : directory(::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY)) {}
    struct stat file_of(const FileTime& time) {
        const std::string path = (temp.path() / "file").string();
        const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
        REQUIRE(set_file_time(fd.get(), time) == 0);
        struct stat st = {};
        REQUIRE(::fstat(fd.get(), &st) == 0);
        return st;
    }
    test::TemporaryDirectory temp;
    UniqueFd directory;
};

}  // namespace

TEST_CASE("times before 1970 and beyond 64 bits of nanoseconds come back as they were set") {
    Rig rig;
    for (const FileTime& time : {FileTime{-2, 500'000'000}, FileTime{0, 1}, FileTime{10'413'792'000, 123'456'789}}) {
        CHECK(mtime_of(rig.file_of(time)) == time);
    }
    CHECK(FileTime{-2, 500'000'000} < FileTime{-1, 0});
    CHECK(FileTime{-1, 0} < FileTime{-1, 1});
}

TEST_CASE("a time agrees with what the disk makes of it, and with no other") {
    Rig rig;
    DiskTimes times;
    const FileTime fine{1'000'000'000, 100};
    CHECK(times.agree(rig.directory.get(), rig.file_of(fine), fine));
    // Each of these looks like a rounded time, but this disk does not round.
    for (const FileTime& other : {FileTime{1'000'000'000, 0}, FileTime{999'999'999, 0}, FileTime{1'000'000'002, 0}}) {
        CHECK_FALSE(times.agree(rig.directory.get(), rig.file_of(other), fine));
    }
    // The kernel clamps times that are far beyond the range of any disk.
    const FileTime never{-9'000'000'000'000'000, 0};
    const struct stat cut = rig.file_of(never);
    CHECK(times.agree(rig.directory.get(), cut, never));
    CHECK_FALSE(times.agree(rig.directory.get(), rig.file_of(fine), never));
    times.close();
    int error = 0;
    CHECK(names_in(rig.directory.get(), error) == std::vector<std::string>{"file"});
}

TEST_CASE("lost times are counted and told once") {
    Rig rig;
    LostTimes lost;
    lost.look(rig.file_of({5, 1'000}), "same", {5, 1'900});
    CHECK(lost.take().empty());
    lost.look(rig.file_of({315'532'800, 0}), "a'b", {-1, 500'000'000});
    lost.look(rig.file_of({4, 0}), "second", {5, 0});
    CHECK(lost.take() ==
          "the time of 2 entries could not be preserved: the file system has 1980-01-01 00:00:00 UTC for "
          "1969-12-31 23:59:59.5 UTC, first 'a\\x27b'");
    CHECK(lost.take().empty());
    CHECK(to_text({253'402'300'800, 0}) == "253402300800 s since 1970");
}

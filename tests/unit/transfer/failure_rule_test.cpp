#include "transfer/landing/target_tree.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "as_ordinary_user.hpp"
#include "test/catch.hpp"
#include "transfer/file/file_io.hpp"
#include "tree_writer_rig.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

/// The number of failures that ends a transfer; 0 if a hundred failures do not end it.
int failures_that_end(int error_number) {
    DiskWatch disk;
    for (int i = 1; i <= 100; ++i) {
        if (disk.failed(io_error("cannot write", "f", error_number))) return i;
    }
    return 0;
}

}  // namespace

TEST_CASE("only the disk itself, failing in a row, ends a transfer") {
    for (const int error : {ENOSPC, EDQUOT}) CHECK(failures_that_end(error) == 4);
    for (const int error : {EIO, EROFS, ENOTCONN, ENODEV}) CHECK(failures_that_end(error) == 32);
    for (const int error :
         {EINVAL, EILSEQ, ENAMETOOLONG, EPERM, EACCES, ENOENT, EFBIG, EMFILE, ENOMEM, ELOOP, EEXIST}) {
        CHECK(failures_that_end(error) == 0);
    }
    DiskWatch disk;
    CHECK_FALSE(disk.failed({ErrorCode::refused, "no", ENOSPC}));
    for (int i = 0; i < 100; ++i) {
        CHECK_FALSE(disk.failed(io_error("cannot write", "f", ENOSPC)));
        disk.succeeded();
    }
}

TEST_CASE("an error is known by its number, whatever its words") {
    CHECK(is_full_disk({ErrorCode::file_io, "voll", ENOSPC}));
    CHECK_FALSE(is_full_disk({ErrorCode::file_io, "'No space left on device'"}));
    CHECK(io_error("cannot write", "f", EDQUOT).system_error == EDQUOT);
}

TEST_CASE("a hundred entries that cannot be created do not keep the others from coming") {
    TreeWriterRig rig;
    for (int i = 0; i < 100; ++i) rig.file("none/f" + std::to_string(i), "x");
    for (int i = 0; i < 100; ++i) rig.entry(EntryType::symlink, "none/l" + std::to_string(i), 0, "x");
    for (int i = 0; i < 100; ++i) rig.entry(EntryType::directory, "none/d" + std::to_string(i));
    rig.file("good", "x");
    finish(*rig.writer);
    CHECK_FALSE(rig.fatal);
    CHECK(rig.failed.size() == 300);
    CHECK(read_file(rig.temp / "good") == "x");
}

TEST_CASE("special bits: of directories all but set-user-ID, of files only when they are asked for") {
    for (const bool set_id : {false, true}) {
        TreeWriterRig rig(true, set_id);
        rig.mode = 07775;
        rig.entry(EntryType::directory, "new");
        fs::create_directories(rig.temp / "there");
        rig.entry(EntryType::directory, "there");
        rig.mode = 06755;
        rig.file("f", "x");
        finish(*rig.writer);
        CHECK(mode_of(rig.temp / "new") == (set_id ? 07775U : 03775U));
        CHECK(mode_of(rig.temp / "there") == (set_id ? 07775U : 03775U));
        CHECK(mode_of(rig.temp / "f") == (set_id ? 06755U : 0755U));
        CHECK(rig.unset.empty());
    }
}

TEST_CASE("without preserve a directory keeps the special bits that it has") {
    TreeWriterRig rig;
    fs::create_directories(rig.temp / "d");
    REQUIRE(::chmod((rig.temp / "d").c_str(), 02555) == 0);
    rig.mode = 0755;
    rig.entry(EntryType::directory, "d");
    rig.file("d/f", "x");
    finish(*rig.writer);
    CHECK(mode_of(rig.temp / "d") == 02555U);
    ::chmod((rig.temp / "d").c_str(), 0755);
}

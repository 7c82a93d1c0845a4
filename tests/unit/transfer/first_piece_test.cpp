// The first piece of a file is sent before the receiver's answer is known. These tests check when it counts.
#include <fcntl.h>
#include <sys/stat.h>

#include "test/catch.hpp"
#include "tree_writer_rig.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

TEST_CASE("the first piece of a file counts as written when it is known that the file goes on") {
    const std::string first(kPieceBytes, 'a');
    const auto begin = [&first](TreeWriterRig& rig) {
        message::Entry m;
        m.path = {"long"};
        m.mode = 0644;
        m.size = first.size() + 5;
        rig.writer->begin_entry(m);
        rig.piece(0, first);
        rig.digests(0, first);
    };
    const auto piece = [](TreeWriterRig& rig, std::uint64_t ordinal, const std::string& content) {
        rig.writer->files().write_piece({{0, ordinal, ordinal * kPieceBytes, content.size(), 0},
                                         Chunk::copy_of(std::as_bytes(std::span(content)))});
    };
    SECTION("it was there") {
        TreeWriterRig rig;
        write_file(rig.temp / "long", first + "12345");
        const struct timespec at[2] = {};
        REQUIRE(::utimensat(AT_FDCWD, (rig.temp / "long").c_str(), static_cast<const struct timespec*>(at), 0) == 0);
        begin(rig);
        rig.writer->end_file({0, FileStatus::kept, {}}, 1);
        piece(rig, 0, first);  // its data arrives after the decision
        CHECK(rig.writer->files().written() == 0);
        finish(*rig.writer);
        CHECK(rig.writer->files().written() == 0);
    }
    SECTION("it goes on") {
        TreeWriterRig rig;
        begin(rig);
        CHECK(rig.writer->files().written() == 0);
        piece(rig, 1, "12345");
        CHECK(rig.writer->files().written() == kPieceBytes + 5);
    }
    SECTION("its pieces come in another order") {
        TreeWriterRig rig;
        message::Entry m;
        m.path = {"long"};
        m.mode = 0644;
        m.size = first.size() + 5;
        rig.writer->begin_entry(m);
        piece(rig, 1, "12345");
        CHECK(rig.writer->files().written() == 5);
        piece(rig, 0, first);
        CHECK(rig.writer->files().written() == kPieceBytes + 5);
    }
    SECTION("it is cut off") {
        TreeWriterRig rig;
        begin(rig);
        rig.writer->abandon();
        CHECK(rig.writer->files().written() == kPieceBytes);
    }
}

#include "transfer/landing/tree_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "target_tree_rig.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

void add_link(TargetTreeRig& rig, HardLinks& links, const std::string& path, const std::string& target) {
    links.add(rig.entry(EntryType::hard_link, path, target), path);
}

void make_all(TargetTreeRig& rig, HardLinks& links) {
    while (links.go_on()) {
    }
    rig.tree->flush();
}

}  // namespace

TEST_CASE("hard links are made at the end, one at a time, and a link may lead to a link's file") {
    TargetTreeRig rig;
    HardLinks links(*rig.tree);
    add_link(rig, links, "second", "first");
    add_link(rig, links, "third", "first");
    write_file(rig.temp / "first", "content");
    rig.tree->note_own("first");
    REQUIRE(links.go_on());
    CHECK_FALSE(fs::exists(rig.temp / "third"));
    make_all(rig, links);
    CHECK(fs::hard_link_count(rig.temp / "first") == 3);
    CHECK(read_file(rig.temp / "third") == "content");
    CHECK(rig.delivered == std::vector<std::string>{"second", "third"});
    CHECK(rig.failed.empty());
}

TEST_CASE("a hard link that cannot lead where it is to lead fails by its own name") {
    TargetTreeRig rig;
    HardLinks links(*rig.tree);
    write_file(rig.temp / "another's", "secret");
    fs::create_directory(rig.temp / "directory");
    add_link(rig, links, "to another's", "another's");
    add_link(rig, links, "to nothing", "nothing");
    add_link(rig, links, "to a directory", "directory");
    add_link(rig, links, "out", "../outside");
    make_all(rig, links);
    CHECK(rig.failed == std::vector<std::string>{"out", "to another's", "to nothing", "to a directory"});
    CHECK(rig.codes ==
          std::vector<ErrorCode>{ErrorCode::refused, ErrorCode::file_io, ErrorCode::file_io, ErrorCode::file_io});
    CHECK(rig.delivered.empty());
}

TEST_CASE("hard links that stand are counted by a job that gives up, and no other is made") {
    TargetTreeRig rig;
    HardLinks links(*rig.tree);
    write_file(rig.temp / "first", "content");
    rig.tree->note_own("first");
    fs::create_hard_link(rig.temp / "first", rig.temp / "second");
    add_link(rig, links, "second", "first");
    add_link(rig, links, "third", "first");
    links.give_up();
    make_all(rig, links);
    CHECK(rig.unchanged == 1);
    CHECK(rig.delivered.empty());
    CHECK_FALSE(fs::exists(rig.temp / "third"));
}

TEST_CASE("any number of hard links may wait: beyond a bound they wait on the disk, and memory is given back") {
    TreeSetup setup;
    setup.run.hard_link_bytes = 20'000;
    TargetTreeRig rig(setup);
    HardLinks links(*rig.tree);
    for (const char* name : {"first", "standing"}) {
        write_file(rig.temp / name, "content");
        rig.tree->note_own(name);
    }
    constexpr int kLinks = 6000;
    const auto name = [](int i) { return "a link with a long name " + std::to_string(i); };
    for (int i = 0; i < kLinks; i += 2) fs::create_hard_link(rig.temp / "standing", rig.temp / name(i));
    std::uint64_t most = 0;
    for (int i = 0; i < kLinks; ++i) {
        add_link(rig, links, name(i), i % 2 == 0 ? "standing" : "first");
        most = std::max(most, links.held());
    }
    CHECK(most > setup.run.hard_link_bytes / 2);
    CHECK(most < 200'000);  // all links would take more than twice this
    make_all(rig, links);
    CHECK(rig.failed.empty());
    CHECK(rig.unchanged == kLinks / 2);
    CHECK(rig.delivered.size() == kLinks / 2);
    CHECK(std::is_sorted(rig.delivered.begin(), rig.delivered.end(), [](const auto& a, const auto& b) {
        return std::stoi(a.substr(24)) < std::stoi(b.substr(24));
    }));
    CHECK(fs::hard_link_count(rig.temp / "first") == kLinks / 2 + 1);
    CHECK(links.held() < 100);
    CHECK(std::distance(fs::directory_iterator(rig.temp.path()), fs::directory_iterator()) == kLinks + 2);
}

TEST_CASE("hard links for which there is no memory and no disk space fail by name, and the others are made") {
    TreeSetup setup;
    setup.run.hard_link_bytes = 2'000;
    setup.options.min_free = UINT64_MAX;
    TargetTreeRig rig(setup);
    HardLinks links(*rig.tree);
    write_file(rig.temp / "first", "content");
    rig.tree->note_own("first");
    for (int i = 0; i < 3000; ++i) add_link(rig, links, "link number " + std::to_string(i), "first");
    make_all(rig, links);
    CHECK(rig.failed.size() > 100);
    CHECK(rig.delivered.size() > 1000);  // those in memory, and those of the block that was not written
    CHECK(rig.failed.size() + rig.delivered.size() == 3000);
    CHECK(rig.codes.front() == ErrorCode::file_io);
    CHECK(fs::hard_link_count(rig.temp / "first") == rig.delivered.size() + 1);
}

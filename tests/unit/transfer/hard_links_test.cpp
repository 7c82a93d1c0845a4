#include "transfer/landing/hard_links.hpp"

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

TEST_CASE("a sender cannot have any number of hard links waiting") {
    TargetTreeRig rig;
    HardLinks links(*rig.tree);
    constexpr std::uint64_t kMost = 64U << 20U;
    std::string target = "t";
    while (target.size() + 202 < kMaxPathBytes) target += '/' + std::string(200, 't');
    const auto entry = rig.entry(EntryType::hard_link, "link", target);
    for (int i = 0; i < 100'000 && rig.failed.empty(); ++i) links.add(entry, "link");
    CHECK(rig.codes == std::vector<ErrorCode>{ErrorCode::refused});
    CHECK(links.held() < kMost + 2 * kMaxPathBytes);
}

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/names.hpp"
#include "transfer/source/scanner.hpp"
#include "udtx/transfer/shard.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

/// Short names from few letters, so that paths often are equal or contain each other.
std::string any_path(std::mt19937& random) {
    constexpr std::string_view kLetters = "ab.~\x80";
    std::string path;
    for (std::size_t parts = 1 + random() % 3; parts > 0; --parts) {
        if (!path.empty()) path += '/';
        for (std::size_t n = 1 + random() % 2; n > 0; --n) path += kLetters[random() % kLetters.size()];
        if (path.ends_with('.')) path += 'x';  // "." and ".." are not valid names
    }
    return path;
}

/// Compares component by component; std::string compares unsigned bytes.
bool before(const std::string& a, const std::string& b) { return split_path(a) < split_path(b); }

/// With `content`, the scanner also checks that the part has it. `failures` are then expected.
std::vector<std::string> scan_part(const std::string& source, const std::optional<PathRange>& part, bool directories,
                                   std::optional<ShardContent> content = std::nullopt, std::uint64_t failures = 0) {
    auto roots = open_sources({source});
    REQUIRE(roots.ok());
    Selection options;
    options.part = part;
    options.hard_links = true;
    if (content) options.shard = JobShard{1, 0, 1, 0, 0, 0, 0, 0, content};
    ScanQueue queue(kMaxScanQueueBytes);
    JobReport report;
    Scanner scanner(*roots, queue, report, options);
    std::vector<std::string> out;
    while (!queue.over()) {
        static_cast<void>(scanner.step());
        while (auto entry = queue.try_pop()) {
            if ((entry->type == EntryType::directory) == directories) out.push_back(entry->path);
        }
    }
    CHECK(report.outcome().failed_count == failures);
    CHECK(report.unannounced() == failures);
    return out;
}

Selection selection_of(const std::string& source) {
    Selection what;
    what.sources = {source};
    return what;
}

}  // namespace

TEST_CASE("paths are in the order of their components") {
    CHECK((compare_paths("a", "a/b") < 0));
    CHECK((compare_paths("a/b", "a.txt") < 0));
    CHECK((compare_paths("a\x80", "ab") > 0));
    CHECK((compare_paths("a", "a") == 0));
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const std::string a = any_path(random);
        const std::string b = any_path(random);
        CAPTURE(a, b);
        CHECK((compare_paths(a, b) < 0) == before(a, b));
        CHECK((compare_paths(a, b) == 0) == (a == b));
    }
}

TEST_CASE("a part of a tree knows what is in it and what leads there") {
    std::mt19937 random(2);
    std::vector<std::string> all;
    for (int i = 0; i < 300; ++i) all.push_back(any_path(random));
    for (int i = 0; i < 300; ++i) {
        const PathRange part{i % 7 == 0 ? "" : any_path(random), i % 5 == 0 ? "" : any_path(random)};
        CAPTURE(part.from, part.to);
        for (const std::string& path : all) {
            const bool in =
                (part.from.empty() || !before(path, part.from)) && (part.to.empty() || before(path, part.to));
            CHECK(part.contains(path) == in);
            if (in) CHECK(part.meets(path));
            for (const std::string& other : all) {
                if (other.starts_with(path + "/") && part.contains(other)) CHECK(part.meets(path));
            }
        }
    }
    const PathRange tail{"a/b", ""};
    CHECK(tail.meets("a"));
    CHECK(tail.meets(""));
    CHECK_FALSE(tail.contains("a"));
    CHECK_FALSE(tail.meets("a/a"));
    CHECK_FALSE(PathRange{"a/b", "a/b"}.meets("a"));
}

TEST_CASE("a split survives its text, and what is none is refused") {
    auto split = Split::create({{"a"}, {"a/b\tc"}, {"a/b\tc", kCutBytes}, {"b\\\n"}});
    REQUIRE(split.ok());
    CHECK(split->count() == 5);
    const auto again = Split::parse(split->to_text());
    REQUIRE(again.ok());
    CHECK(again->to_text() == split->to_text());
    CHECK(again->digest() == split->digest());
    CHECK(again->part(2).from == "a/b\tc");
    CHECK(again->part(2).to == "a/b\tc");
    CHECK(again->part(4).to.empty());
    CHECK(Split().to_text() == "udtx-plan 2 1\nend\n");
    CHECK(Split::parse(Split().to_text()).ok());

    const std::string text = split->to_text();
    for (std::size_t n = 0; n < text.size(); ++n) CHECK_FALSE(Split::parse(text.substr(0, n)).ok());
    for (const char* wrong :
         {"", "udtx-plan 1 1\nend\n", "udtx-plan 2 0\nend\n", "udtx-plan 2 4097\nend\n", "udtx-plan 2 2\nend\n",
          "udtx-plan 2 1\nend\nend\n", "udtx-plan 2 2\n../x\nend\n", "udtx-plan 2 2\n/x\nend\n",
          "udtx-plan 2 2\nx//y\nend\n", "udtx-plan 2 2\nx\\y\nend\n", "udtx-plan 2 3\nb\na\nend\n",
          "udtx-plan 2 2\n\nend\n", "udtx-plan 2 2\nx\t1\nend\n", "udtx-plan 2 2\nx\t0\nend\n",
          "udtx-plan 2 2\nx\t\nend\n", "udtx-plan 2 2\nx\t08388608\nend\n", "udtx-plan 2 3\nx\t8388608\nx\nend\n",
          "udtx-plan 2 01\nend\n", "udtx-plan 2 -1\nend\n"}) {
        CAPTURE(wrong);
        CHECK_FALSE(Split::parse(wrong).ok());
    }
    const auto counted = Split::create({{"a"}}, {{1, 2, 3}, {4, 5, ~0ULL}}, 6);
    REQUIRE(counted.ok());
    const std::string text_of_counted = counted->to_text();
    CHECK(text_of_counted == "udtx-plan 2 2\na\nselection 6\ncontent 1 2 3\ncontent 4 5 18446744073709551615\nend\n");
    const auto counted_again = Split::parse(text_of_counted);
    REQUIRE(counted_again.ok());
    CHECK(counted_again->selection() == 6);
    CHECK(counted_again->content(1) == ShardContent{4, 5, ~0ULL});
    CHECK(counted_again->digest() == counted->digest());
    CHECK(counted->digest() != (*Split::create({{"a"}}, {{1, 2, 3}, {4, 6, ~0ULL}}, 6)).digest());
    CHECK_FALSE(split->content(0));
    for (std::size_t n = 0; n < text_of_counted.size(); ++n)
        CHECK_FALSE(Split::parse(text_of_counted.substr(0, n)).ok());
    CHECK_FALSE(Split::parse("udtx-plan 2 1\nselection 6\ncontent 1 2\nend\n").ok());
    CHECK_FALSE(Split::parse("udtx-plan 2 1\nselection 06\ncontent 1 2 3\nend\n").ok());
    CHECK_FALSE(Split::create({{"a"}}, {{1, 2, 3}}).ok());
    CHECK(Split::create(std::vector<Cut>(kMaxShards - 1, Cut{"x"})).ok());
    CHECK_FALSE(Split::create(std::vector<Cut>(kMaxShards, Cut{"x"})).ok());
}

TEST_CASE("the parts of a tree have each file once, and each directory with what is below it") {
    const TemporaryDirectory temp;
    std::mt19937 random(3);
    std::map<std::string, std::uint64_t> files;
    for (int i = 0; i < 400; ++i) {
        const std::string path = any_path(random);
        std::error_code error;
        fs::create_directories((temp / "t" / path).parent_path(), error);
        if (error || fs::exists(temp / "t" / path)) continue;
        files[path] = random() % 100'000;
        write_file(temp / "t" / path, std::string(files[path], 'x'));
    }
    fs::create_directories(temp / "t/zz/empty");
    fs::create_directories(temp / "t/00/empty");
    const std::string source = (temp / "t").string();
    for (const std::string& form : {source, source + "/"}) {
        const std::string spelled = form.ends_with('/') ? form + "." : form;
        for (const std::size_t shards : {1U, 2U, 3U, 8U, 50U, 1000U}) {
            CAPTURE(form, shards);
            const auto plan = make_split(selection_of(form), shards);
            REQUIRE(plan.ok());
            CHECK(plan->files == files.size());
            CHECK(plan->split.count() == shards);
            std::vector<std::string> seen;
            std::set<std::string> directories;
            for (std::size_t i = 0; i < shards; ++i) {
                const std::vector<std::string> part =
                    scan_part(spelled, plan->split.part(i), false, plan->split.content(i));
                std::uint64_t bytes = 0;
                for (const std::string& path : part) bytes += files.at(form.ends_with('/') ? path : path.substr(2));
                CHECK(plan->shard_costs[i] <= bytes + part.size() * kShardFileCost);
                const std::vector<std::string> ways = scan_part(spelled, plan->split.part(i), true);
                for (const std::string& path : part) {
                    const std::string parent = split_leaf(path).directory;
                    CHECK((parent.empty() || std::ranges::find(ways, parent) != ways.end()));
                }
                directories.insert(ways.begin(), ways.end());
                seen.insert(seen.end(), part.begin(), part.end());
            }
            std::ranges::sort(seen);
            std::vector<std::string> whole = scan_part(spelled, std::nullopt, false);
            std::ranges::sort(whole);
            CHECK(seen == whole);
            const std::vector<std::string> all = scan_part(spelled, std::nullopt, true);
            CHECK(directories == std::set<std::string>(all.begin(), all.end()));
        }
    }
}

TEST_CASE("shards have equal shares where files are small beside them") {
    const TemporaryDirectory temp;
    std::mt19937 random(4);
    fs::create_directories(temp / "t");
    for (int i = 0; i < 2000; ++i) {
        write_file(temp / "t" / std::to_string(i), std::string(random() % 20'000, 'x'));
    }
    const auto plan = make_split(selection_of((temp / "t").string()), 8);
    REQUIRE(plan.ok());
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(plan->shard_costs[i] >=
              scan_part((temp / "t").string(), plan->split.part(i), false).size() * kShardFileCost);
        most = std::max(most, plan->shard_costs[i]);
    }
    CHECK(static_cast<double>(most) <= 1.15 * static_cast<double>(plan->bytes + plan->files * kShardFileCost) / 8);
}

namespace {

/// Checks that each byte of these files is in exactly one part, and that a part inside a file starts at a multiple of 8
/// MiB.
void check_bytes(const Split& split, const std::map<std::string, std::uint64_t>& files) {
    for (const auto& [path, size] : files) {
        CAPTURE(path, size);
        std::vector<FileRange> parts;
        for (std::size_t i = 0; i < split.count(); ++i) {
            const auto bytes = split.part(i).bytes_of(path, size);
            if (!bytes) continue;
            CHECK(split.part(i).meets(path));
            CHECK(split.part(i).contains(path) == (bytes->offset == 0));
            parts.push_back(*bytes);
        }
        std::uint64_t end = 0;
        for (const FileRange& part : parts) {
            CHECK(part.offset == end);
            CHECK(part.offset % kCutBytes == 0);
            CHECK((part.length > 0 || size == 0));
            end += part.length;
        }
        CHECK(end == size);
        CHECK_FALSE(parts.empty());
    }
}

}  // namespace

TEST_CASE("each byte of a file has one shard, whatever size it has by now") {
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<Cut> cuts;
        for (std::size_t n = random() % 12; n > 0; --n) cuts.push_back({any_path(random), (random() % 4) * kCutBytes});
        std::ranges::sort(cuts, [](const Cut& a, const Cut& b) {
            const auto order = compare_paths(a.path, b.path);
            return order < 0 || (order == 0 && a.offset < b.offset);
        });
        std::map<std::string, std::uint64_t> files{{"a", 0}, {"b/a", 3 * kCutBytes}};
        for (const Cut& cut : cuts) {
            files[cut.path] = (random() % 5) * kCutBytes + random() % 3;
            files[cut.path + "/x"] = random() % (3 * kCutBytes);
        }
        const auto split = Split::create(cuts);
        REQUIRE(split.ok());
        check_bytes(*split, files);
        CHECK(Split::parse(split->to_text()).ok());
    }
}

TEST_CASE("a large file is cut, so that all shards have equal shares") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "t");
    constexpr std::uint64_t kMiB = 1U << 20U;
    const auto sized = [&](const char* name, std::uint64_t size) {
        write_file(temp / "t" / name, "");
        fs::resize_file(temp / "t" / name, size);
        // Holes would not count, so the whole file is written as data.
        std::ofstream out(temp / "t" / name, std::ios::binary | std::ios::in);
        const std::string block(kMiB, 'x');
        for (std::uint64_t at = 0; at < size; at += kMiB) out << block;
    };
    sized("a", 100 * kMiB);
    sized("m", 256 * kMiB);
    for (int i = 0; i < 100; ++i) write_file(temp / "t" / ("z" + std::to_string(100 + i)), "x");
    const auto plan = make_split(selection_of((temp / "t").string()), 8);
    REQUIRE(plan.ok());
    check_bytes(plan->split, {{"t/a", 100 * kMiB}, {"t/m", 256 * kMiB}, {"t/z150", 1}});
    for (std::size_t i = 0; i < 8; ++i) {
        scan_part((temp / "t").string(), plan->split.part(i), false, plan->split.content(i));
    }
    std::uint64_t most = 0;
    std::uint64_t all = 0;
    for (const std::uint64_t cost : plan->shard_costs) {
        most = std::max(most, cost);
        all += cost;
    }
    CHECK(all >= plan->bytes);
    // A cut is at most half of 8 MiB away from its ideal place.
    CHECK(most <= all / 8 + kCutBytes);
    // A file with two names is not cut, because both names would need the same cuts.
    fs::remove(temp / "t/a");
    fs::create_hard_link(temp / "t/m", temp / "t/n");
    Selection links = selection_of((temp / "t").string());
    links.hard_links = true;
    const auto uncut = make_split(links, 8);
    REQUIRE(uncut.ok());
    for (std::size_t i = 0; i < 8; ++i) CHECK(uncut->split.part(i).from_offset == 0);
}

TEST_CASE("a file that cannot be cut leaves an equal share to each of the other shards") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "t");
    write_file(temp / "t/a", std::string(8'000'000, 'x'));
    for (int i = 0; i < 70; ++i) write_file(temp / "t" / ("b" + std::to_string(100 + i)), "x");
    const auto plan = make_split(selection_of((temp / "t").string()), 8);
    REQUIRE(plan.ok());
    for (std::size_t i = 1; i < 8; ++i) {
        CHECK(scan_part((temp / "t").string(), plan->split.part(i), false).size() == 10);
    }
}

TEST_CASE("a part that is not as the plan counted it fails") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "t/empty");
    for (const char* name : {"a", "b", "c"}) write_file(temp / "t" / name, "1");
    const std::string source = (temp / "t").string();
    const auto plan = make_split(selection_of(source), 1);
    REQUIRE(plan.ok());
    const auto scan = [&](std::uint64_t failures) {
        scan_part(source, plan->split.part(0), false, plan->split.content(0), failures);
    };
    scan(0);
    write_file(temp / "t/b", "2");
    scan(0);  // the times of files decide about that
    write_file(temp / "t/b", "22");
    scan(1);
    fs::remove(temp / "t/b");
    scan(1);
    write_file(temp / "t/d", "4");
    scan(1);  // as many of the same sizes
    write_file(temp / "t/b", "2");
    scan(1);
    fs::remove(temp / "t/d");
    scan(0);
    fs::remove(temp / "t/empty");
    scan(1);
}

TEST_CASE("what selects entries makes the number of a selection") {
    const Selection all;
    Selection other = all;
    CHECK(selection_number(all) != 0);
    other.hard_links = other.by_digest = other.preserve = true;
    CHECK(selection_number(other) == selection_number(all));
    other.links = LinkChoice::skip;
    CHECK(selection_number(other) != selection_number(all));
    Selection filtered = all;
    REQUIRE(filtered.rules.add({false, "*.o"}));
    Selection reversed = all;
    REQUIRE(reversed.rules.add({true, "*.o"}));
    CHECK(selection_number(filtered) != selection_number(all));
    CHECK(selection_number(filtered) != selection_number(reversed));
    Selection named = all;
    named.names = std::vector<std::string>{};
    CHECK(selection_number(named) != selection_number(all));
    const std::uint64_t none = selection_number(named);
    named.names->emplace_back("a");
    CHECK(selection_number(named) != none);
}

TEST_CASE("a split needs a number of shards and sources that are there") {
    const TemporaryDirectory temp;
    CHECK(make_split(selection_of(temp.path().string()), 0).error().code == ErrorCode::invalid_argument);
    CHECK(make_split(selection_of(temp.path().string()), kMaxShards + 1).error().code == ErrorCode::invalid_argument);
    CHECK_FALSE(make_split(selection_of((temp / "none").string()), 2).ok());
    const auto empty = make_split(selection_of(temp.path().string() + "/"), 3);
    REQUIRE(empty.ok());
    CHECK(empty->files == 0);
    CHECK(empty->split.count() == 3);
}

TEST_CASE("a shard's number is that of job, shard and destination") {
    const std::uint64_t number = shard_number("job", {1, 8}, "to/here");
    CHECK(number != 0);
    CHECK(number == shard_number("job", {1, 8}, "/to//here/"));
    CHECK(number != shard_number("job", {2, 8}, "to/here"));
    CHECK(number != shard_number("job", {1, 9}, "to/here"));
    CHECK(number != shard_number("other", {1, 8}, "to/here"));
    CHECK(number != shard_number("job", {1, 8}, "to"));
}

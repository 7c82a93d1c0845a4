#include "transfer/source/scanner.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "transfer/names.hpp"
#include "transfer/source/file_sender.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

struct Scan {
    explicit Scan(const std::vector<std::string>& sources, const Selection& options = {}) {
        auto roots = open_sources(sources);
        REQUIRE(roots.ok());
        ScanQueue queue(kMaxScanQueueBytes);
        Scanner scanner(*roots, queue, report, options);
        while (scanner.step().then == DiskStep::Then::again) {
        }
        linked = scanner.linked();
        while (auto entry = queue.try_pop()) {
            order.push_back(entry->path);
            entries[entry->path] = *entry;
        }
    }
    JobReport report;
    std::vector<std::string> order;
    std::map<std::string, ScannedEntry> entries;
    std::size_t linked = 0;
};

}  // namespace

TEST_CASE("the scanner finds everything, parents first, links as links") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "t/a/b");
    fs::create_directories(temp / "t/empty");
    write_file(temp / "t/a/file", "12345");
    write_file(temp / "t/a/b/deep", "1");
    fs::create_symlink("../../nowhere", temp / "t/a/link");
    REQUIRE(::mkfifo((temp / "t/fifo").c_str(), 0600) == 0);
    CHECK(Scan({(temp / "t/").string()}).order.front() != "t");  // the contents alone
    const Scan scan({(temp / "t").string()});
    CHECK(scan.entries.size() == 7);
    CHECK(scan.order.front() == "t");
    CHECK(scan.entries.at("t/empty").type == EntryType::directory);
    CHECK(scan.entries.at("t/a/link").type == EntryType::symlink);
    CHECK(scan.entries.at("t/a/link").target == "../../nowhere");
    CHECK(scan.entries.at("t/a/b/deep").type == EntryType::file);
    for (std::size_t i = 0; i < scan.order.size(); ++i) {
        const std::string parent = split_leaf(scan.order[i]).directory;
        const auto at = std::find(scan.order.begin(), scan.order.end(), parent);
        if (!parent.empty()) CHECK(at - scan.order.begin() < static_cast<std::ptrdiff_t>(i));
    }
    const Progress progress = scan.report.progress();
    CHECK(progress.files_total == 2);
    CHECK(progress.bytes_total == 6);
    CHECK(progress.totals_final);
    CHECK(scan.report.outcome().warnings.size() == 1);  // the FIFO
    CHECK(scan.report.outcome().failed_count == 0);
}

TEST_CASE("a source that is a dot sends its contents") {
    const TemporaryDirectory temp;
    write_file(temp / "f", "1");
    const Scan scan({(temp.path() / ".").string()});
    CHECK(scan.order == std::vector<std::string>{"f"});
}

TEST_CASE("only what is named is found, and the directories on the way, once") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "a/b");
    fs::create_directories(temp / "c");
    for (const char* name : {"a/x", "a/y", "a/b/z", "c/w", "top"}) write_file(temp / name, "1");
    fs::create_directory_symlink(temp / "c", temp / "l");
    Selection options;
    options.names = {"a/b/z", "./a/x", "c", "a/x", "none", "l/w"};
    const Scan listed({(temp.path() / ".").string()}, options);
    CHECK(listed.order == std::vector<std::string>{"a", "a/b", "a/b/z", "a/x", "c", "l"});
    CHECK(listed.report.outcome().failed_count == 2);  // a missing name, and a name behind a link
    CHECK(listed.report.unannounced() == 2);
    options.names = {"a/b/z", "a"};
    options.into_named = true;
    CHECK(Scan({(temp.path() / ".").string()}, options).entries.size() == 5);
}

TEST_CASE("of a directory that is named with a slash or dot at its end what is directly in it is found") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "a/b");
    fs::create_directories(temp / "c");
    for (const char* name : {"a/x", "a/b/z", "c/w", "top"}) write_file(temp / name, "1");
    const auto found = [&](std::vector<std::string> names, bool into_named = false) {
        Selection options;
        options.names = std::move(names);
        options.into_named = into_named;
        const Scan scan({(temp.path() / ".").string()}, options);
        CHECK(scan.report.outcome().failed_count == 0);
        CHECK(scan.order.size() == scan.entries.size());
        std::vector<std::string> all;
        for (const auto& [path, entry] : scan.entries) all.push_back(path);
        return all;
    };
    using Names = std::vector<std::string>;
    CHECK(found({"a"}) == Names{"a"});
    CHECK(found({"a/", "a"}) == Names{"a", "a/b", "a/x"});
    CHECK(found({"a", "a/."}) == Names{"a", "a/b", "a/x"});
    CHECK(found({"a/", "a/b/", "top/"}) == Names{"a", "a/b", "a/b/z", "a/x", "top"});
    CHECK(found({"."}) == Names{"a", "c", "top"});
    CHECK(found({"./", "a/b/z"}) == Names{"a", "a/b", "a/b/z", "c", "top"});
    CHECK(found({".", "a/b/z", "c"}, true) == Names{"a", "a/b", "a/b/z", "a/x", "c", "c/w", "top"});
}

TEST_CASE("a rule is for what is named, not for the directories on the way, as with rsync") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "a/b/c");
    for (const char* name : {"a/1", "a/b/2", "a/b/c/3", "top"}) write_file(temp / name, "1");
    const auto found = [&](std::vector<std::string> names, const char* pattern, bool into_named = false) {
        Selection options;
        options.names = std::move(names);
        options.into_named = into_named;
        REQUIRE(options.rules.add({false, pattern}));
        const Scan scan({(temp.path() / ".").string()}, options);
        CHECK(scan.order.size() == scan.entries.size());
        std::vector<std::string> all;
        for (const auto& [path, entry] : scan.entries) all.push_back(path);
        return all;
    };
    using Names = std::vector<std::string>;
    CHECK(found({"a/b/2"}, "a") == Names{"a", "a/b", "a/b/2"});
    CHECK(found({"a/b/2"}, "/a/b") == Names{"a", "a/b", "a/b/2"});
    CHECK(found({"a/b/2", "a/"}, "a") == Names{"a", "a/b", "a/b/2"});
    CHECK(found({"a/b/2", "a"}, "b", true) == Names{"a", "a/1", "a/b", "a/b/2"});
    CHECK(found({".", "a/b/2"}, "a", true) == Names{"a", "a/b", "a/b/2", "top"});
    CHECK(found({"a/b/2"}, "a/***").empty());
    CHECK(found({"a/b/c/3", "top"}, "3") == Names{"top"});
}

TEST_CASE("of two sources that have a name the first one's file is found, and directories become one") {
    const TemporaryDirectory temp;
    for (const char* directory : {"a/d", "a/dir", "b/d", "b/file"}) fs::create_directories(temp / directory);
    for (const char* name : {"a/x", "a/d/y", "a/file"}) write_file(temp / name, "first");
    for (const char* name : {"b/x", "b/d/y", "b/d/z", "b/dir", "b/file/in"}) write_file(temp / name, "2");
    fs::create_hard_link(temp / "b/x", temp / "b/twin");
    const auto source = [&](const char* name) { return (temp / name).string(); };
    Selection options;
    options.hard_links = true;
    const Scan scan({source("a/."), source("b/.")}, options);
    CHECK(scan.order.size() == scan.entries.size());
    CHECK(scan.entries.size() == 7);
    for (const char* name : {"x", "d/y", "file"}) CHECK(scan.entries.at(name).root == 0);
    for (const char* name : {"d/z", "twin"}) CHECK(scan.entries.at(name).root == 1);
    CHECK(scan.entries.at("twin").type == EntryType::file);  // its other name, x, is not sent from this source
    CHECK(scan.entries.at("dir").type == EntryType::directory);
    REQUIRE(scan.report.outcome().failed_count == 1);
    CHECK(scan.report.outcome().failed.front().path == "file");
    CHECK(scan.report.unannounced() == 1);

    CHECK(Scan({source("a/."), source("a/.")}).order == Scan({source("a/.")}).order);
    CHECK(Scan({source("a/x"), source("b/.")}).entries.at("x").root == 0);
}

TEST_CASE("a taken name stays taken however many there are") {
    TakenNames taken;
    const auto name = [](int i) { return "directory/" + std::to_string(i); };
    using Holder = TakenNames::Holder;
    for (int i = 0; i < 5000; ++i) CHECK(taken.take(name(i), i % 2 == 0) == Holder::none);
    for (int i = 0; i < 5000; ++i)
        CHECK(taken.take(name(i), i % 3 == 0) == (i % 2 == 0 ? Holder::directory : Holder::other));
}

TEST_CASE("excluded directories are not looked into, and links that lead out can be left out") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "t/cache/deep");
    write_file(temp / "t/cache/deep/f", "1");
    write_file(temp / "t/f", "1");
    fs::create_hard_link(temp / "t/f", temp / "t/g");
    fs::create_symlink("../t/f", temp / "t/in");
    fs::create_symlink("../../f", temp / "t/out");
    Selection options;
    REQUIRE(options.rules.add({false, "cache/"}).ok());
    options.links = LinkChoice::safe;
    options.hard_links = true;
    const Scan scan({(temp / "t").string()}, options);
    CHECK(scan.entries.size() == 4);
    CHECK(scan.entries.count("t/in") == 1);
    const bool f_first = scan.entries.at("t/f").type == EntryType::file;
    const ScannedEntry& other = scan.entries.at(f_first ? "t/g" : "t/f");
    CHECK(other.type == EntryType::hard_link);
    CHECK(other.target == (f_first ? "t/f" : "t/g"));
    CHECK(scan.report.outcome().warnings.size() == 1);
    CHECK(leads_out("a/l", "/etc"));
    CHECK(leads_out("a/l", "../b/../../c"));
    CHECK_FALSE(leads_out("a/b/l", "../../c"));
    // A component of the target may itself be a link.
    CHECK(leads_out("a/l", "b/../c"));
    CHECK(leads_out("a/l", "b/.."));
    CHECK_FALSE(leads_out("a/b/l", "./.././../c"));
}

TEST_CASE("sources that are missing are named") {
    const TemporaryDirectory temp;
    CHECK_FALSE(open_sources({}).ok());
    auto missing = open_sources({(temp / "none").string()});
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().code == ErrorCode::file_io);
    CHECK(missing.error().message.find("none") != std::string::npos);
}

TEST_CASE("of two sources of one name the first file goes, and directories become one") {
    const TemporaryDirectory temp;
    for (const char* side : {"a", "b"}) {
        fs::create_directories(temp / side / "d" / (std::string("of-") + side));
        write_file(temp / side / "x", side);
        write_file(temp / side / "d/both", side);
    }
    const Scan scan(
        {(temp / "a/x").string(), (temp / "b/x").string(), (temp / "a/d").string(), (temp / "b/d").string()});
    CHECK(scan.entries.at("x").root == 0);
    CHECK(scan.entries.at("d/both").root == 2);
    CHECK(scan.entries.count("d/of-a") + scan.entries.count("d/of-b") == 2);
    CHECK(std::count(scan.order.begin(), scan.order.end(), "d") == 1);
    REQUIRE(scan.report.outcome().warnings.size() == 1);
    CHECK(scan.report.outcome().warnings.front().find("2 names are in several sources") != std::string::npos);
    CHECK(scan.report.outcome().failed_count == 0);
}

TEST_CASE("what is left out is named where the receiver is to leave it alone") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "t/no");
    write_file(temp / "t/no/below", "x");
    write_file(temp / "t/file", "x");
    fs::create_symlink("file", temp / "t/link");
    REQUIRE(::mkfifo((temp / "t/fifo").c_str(), 0600) == 0);
    Selection options;
    options.links = LinkChoice::skip;
    REQUIRE(options.rules.add({false, "no"}).ok());
    CHECK(Scan({(temp / "t/.").string()}, options).entries.size() == 1);
    options.erase = true;
    const Scan scan({(temp / "t/.").string()}, options);
    CHECK(scan.entries.size() == 4);
    for (const char* name : {"link", "fifo", "no"}) CHECK(scan.entries.at(name).unsent);
    CHECK_FALSE(scan.entries.at("file").unsent);
}

TEST_CASE("a source that is neither file, directory nor link is refused by name") {
    const TemporaryDirectory temp;
    REQUIRE(::mkfifo((temp / "fifo").c_str(), 0600) == 0);
    for (const std::string& source : {(temp / "fifo").string(), std::string("/dev/null")}) {
        const auto opened = open_sources({source});
        REQUIRE_FALSE(opened.ok());
        CHECK(opened.error().code == ErrorCode::file_io);
        CHECK(opened.error().message.find(source) != std::string::npos);
    }
}

TEST_CASE("every entry of a tree that is too deep is counted, under its own name") {
    const TemporaryDirectory temp;
    fs::path deep = temp / "top";
    for (std::size_t level = 0; level < kMaxDepth; ++level) deep /= "d";  // one level more than allowed
    fs::create_directories(deep / "below");
    write_file(deep / "below/file", "x");
    write_file(deep / "beside", "y");
    const Scan scan({(temp / "top").string()});
    const Outcome outcome = scan.report.outcome();
    CHECK(scan.entries.size() == kMaxDepth);
    CHECK(outcome.failed_count == 4);
    CHECK(scan.report.unannounced() == 4);
    bool named = false;
    for (const FailedFile& failed : outcome.failed) {
        named = named || (failed.path.ends_with("/below/file") && failed.reason.find("'file'") != std::string::npos);
        CHECK(failed.reason.find("128 levels") != std::string::npos);
    }
    CHECK(named);
}

TEST_CASE("the cursor finds data between holes and cuts it to size") {
    const TemporaryDirectory temp;
    const std::string path = (temp / "sparse").string();
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
    REQUIRE(::ftruncate(fd.get(), 200 << 20) == 0);
    REQUIRE(::pwrite(fd.get(), "x", 1, 100 << 20) == 1);
    struct stat st = {};
    REQUIRE(::fstat(fd.get(), &st) == 0);
    CHECK(may_have_holes(st));
    PieceHasher reader(HashAlgorithm::xxh3_128);
    ExtentCursor cursor(fd.get(), st, {0, 200ULL << 20U}, reader);
    const auto data = cursor.next();
    REQUIRE(data.has_value());
    CHECK(data->offset <= 100ULL << 20U);
    CHECK(data->offset + data->length > 100ULL << 20U);
    CHECK(data->length < 10ULL << 20U);
    CHECK_FALSE(cursor.next().has_value());

    st.st_blocks = st.st_size / 512;  // then nothing is asked about holes
    ExtentCursor dense(fd.get(), st, {0, 200ULL << 20U}, reader);
    std::uint64_t at = 0;
    while (const auto extent = dense.next()) {
        CHECK(extent->offset == at);
        CHECK(extent->length <= kMaxExtentBytes);
        at += extent->length;
    }
    CHECK(at == 200ULL << 20U);
}

TEST_CASE("where nothing is told about holes, the cursor reads and leaves zeros out") {
    constexpr std::uint64_t kMega = 1ULL << 20U;
    const TemporaryDirectory temp;
    const std::string path = (temp / "file").string();
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
    REQUIRE(::ftruncate(fd.get(), 40 << 20) == 0);
    for (const off_t at : {off_t{0}, off_t{(20 << 20) + 5}, off_t{(40 << 20) - 1}}) {
        REQUIRE(::pwrite(fd.get(), "x", 1, at) == 1);
    }
    struct stat st = {};
    REQUIRE(::fstat(fd.get(), &st) == 0);
    PieceHasher reader(HashAlgorithm::xxh3_128);
    ExtentCursor cursor(fd.get(), st, {0, 40 * kMega}, reader, ExtentCursor::Holes::read);
    std::vector<Extent> found;
    while (const auto extent = cursor.next()) {
        if (extent->length > 0) found.push_back(*extent);
    }
    REQUIRE(found.size() == 3);
    CHECK(found[0] == Extent{0, kMega});
    CHECK(found[1] == Extent{20 * kMega, kMega});
    CHECK(found[2] == Extent{39 * kMega, kMega});
    // Data is cut to the size of an extent, and what cannot be read counts as data.
    ExtentCursor blind(-1, st, {8 * kMega, 20 * kMega}, reader, ExtentCursor::Holes::read);
    std::uint64_t at = 8 * kMega;
    while (const auto extent = blind.next()) {
        CHECK(extent->offset == at);
        CHECK(extent->length <= kSentExtentBytes);
        at += extent->length;
    }
    CHECK(at == 28 * kMega);
}

TEST_CASE("a file is remembered only until all its names were met") {
    const TemporaryDirectory temp;
    for (const char* directory : {"pool", "pool/sub", "other"}) fs::create_directories(temp / directory);
    for (int i = 0; i < 300; ++i) {
        const std::string name = std::to_string(i);
        write_file(temp / ("pool/" + name), name);
        fs::create_hard_link(temp / ("pool/" + name), temp / ("pool/sub/" + name));
    }
    Selection options;
    options.hard_links = true;
    const auto source = [&](const char* name) { return (temp / name).string(); };
    const auto count = [](const Scan& scan, EntryType type) {
        return std::ranges::count_if(scan.entries, [&](const auto& entry) { return entry.second.type == type; });
    };
    const Scan pool({source("pool")}, options);
    CHECK(pool.linked == 0);
    CHECK(count(pool, EntryType::file) == 300);
    CHECK(count(pool, EntryType::hard_link) == 300);

    // What has a name elsewhere waits for it to the end.
    fs::create_hard_link(temp / "pool/7", temp / "other/x");
    CHECK(Scan({source("pool")}, options).linked == 1);
    CHECK(Scan({source("pool"), source("other")}, options).linked == 0);
    // A source in another one shows names again, which are links, too.
    for (const auto& both : {std::vector{source("pool/sub"), source("pool")}, {source("pool"), source("pool/sub/.")}}) {
        const Scan twice(both, options);
        CHECK(count(twice, EntryType::file) == 300);
        CHECK(count(twice, EntryType::hard_link) == 600);
    }
}

TEST_CASE("names of one file are told from files that only look the same") {
    const TemporaryDirectory temp;
    const auto root = ConfinedDir::open(temp.path().string());
    REQUIRE(root.ok());
    write_file(temp / "one", "content");
    write_file(temp / "two", "content");
    write_file(temp / "odd", "CONTENT");
    fs::create_hard_link(temp / "one", temp / "link");
    CHECK(is_same_file(*root, "one", "link"));
    CHECK_FALSE(is_same_file(*root, "one", "two"));
    const std::string handle = handle_of(root->fd(), "one");
    CHECK(handle == handle_of(root->fd(), "link"));
    CHECK((handle.empty() || handle != handle_of(root->fd(), "two")));
    CHECK(handle_of(root->fd(), "absent").empty());
    const auto open = [&](const char* name) { return root->open_at(name, O_RDONLY).fd; };
    CHECK(same_bytes(open("one").get(), open("two").get(), 7));
    CHECK_FALSE(same_bytes(open("one").get(), open("odd").get(), 7));
    CHECK_FALSE(same_bytes(open("one").get(), open("two").get(), 8));
}

TEST_CASE("sums of sizes stay numbers that a message can carry") {
    std::uint64_t sum = 0;
    for (int i = 0; i < 9; ++i) add_up(sum, 3ULL << 60U);
    CHECK(sum == kMaxNumber);
    sum = 5;
    add_up(sum, UINT64_MAX);
    CHECK(sum == kMaxNumber);
    sum = kMaxNumber - 1;
    add_up(sum, 1);
    CHECK(sum == kMaxNumber);
    sum = 1;
    add_up(sum, 2);
    CHECK(sum == 3);
}

#include <algorithm>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/checksum.hpp"
#include "transfer/receipt/receipt.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/transfer/receipt.hpp"

using namespace udtx;
using namespace udtx::transfer;
using udtx::test::TemporaryDirectory;

namespace {

/// One entry of a tree. `content` is a file's content, or a link's target.
struct Planned {
    EntryType type = EntryType::file;
    std::vector<std::string> path;
    std::string content{};
};

Planned directory(std::vector<std::string> path) { return {EntryType::directory, std::move(path)}; }
Planned file(std::vector<std::string> path, std::string content) {
    return {EntryType::file, std::move(path), std::move(content)};
}

Digest digest_of_text(HashAlgorithm hash, std::string_view text) {
    Hasher hasher(hash);
    hasher.update(std::as_bytes(std::span(text)));
    return hasher.finish();
}

void note_file(ReceiptWriter& writer, HashAlgorithm hash, const message::Entry& entry, std::string_view content) {
    writer.note(entry);
    FileDigest whole(hash, content.size());
    if (!content.empty()) {
        const Digest piece = digest_of_text(hash, content);
        whole.add(0, content.size(), piece);
        writer.note(message::Digests{entry.index, 0, {piece}});
    }
    writer.note(message::FileEnd{entry.index, FileStatus::ok, whole.finish()});
}

/// The receipt of a transfer that moved these entries in this order.
std::string receipt_of(const std::vector<Planned>& tree, HashAlgorithm hash = HashAlgorithm::sha256) {
    const TemporaryDirectory at;
    const std::string path = at.path().string() + "/receipt";
    auto writer = ReceiptWriter::create(path);
    REQUIRE(writer);
    message::Offer offer;
    offer.hash = hash;
    (*writer)->note(offer);
    std::uint64_t index = 0;
    for (const Planned& planned : tree) {
        message::Entry entry;
        entry.index = index++;
        entry.type = planned.type;
        entry.path = planned.path;
        if (planned.type == EntryType::file) {
            entry.size = planned.content.size();
            entry.whole = true;
            note_file(**writer, hash, entry, planned.content);
        } else {
            entry.target = planned.content;
            (*writer)->note(entry);
        }
    }
    REQUIRE((*writer)->finish([](const std::string&) { return UniqueFd(); }));
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The error of merging the receipts of these two trees, which are called "first" and "second".
Error refusal(const std::vector<Planned>& first, const std::vector<Planned>& second) {
    const auto merged = merge_receipts({{"first", receipt_of(first)}, {"second", receipt_of(second)}});
    REQUIRE_FALSE(merged);
    CHECK(merged.error().code == ErrorCode::integrity);
    return merged.error();
}

bool says(const Error& error, std::string_view what) { return error.message.find(what) != std::string::npos; }

const Planned kLink{EntryType::symlink, {"a", "link"}, "../b"};

/// A tree in the order of its paths.
std::vector<Planned> whole_tree() {
    return {
        directory({"a"}),      file({"a", "b"}, "one"), kLink,           {EntryType::hard_link, {"a", "other"}, "a/b"},
        file({"a\tb"}, "tab"), file({"a.b"}, ""),       directory({"z"})};
}

}  // namespace

TEST_CASE("A merged receipt has the entries in the order of their paths, numbered anew") {
    const auto merged = merge_receipts({{"", receipt_of({file({"a.b"}, "x"), file({"a", "b"}, "yz")})},
                                        {"", receipt_of({file({"a", "a"}, ""), directory({"a"})})}});
    REQUIRE(merged);
    CHECK(merged->files == 3);
    CHECK(merged->bytes == 3);
    const auto parsed = parse_receipt(merged->text);
    REQUIRE(parsed);
    std::vector<std::string> paths;
    for (const ReceiptEntry& entry : parsed->entries) {
        CHECK(entry.index == paths.size());
        paths.push_back(entry.path);
    }
    CHECK(paths == std::vector<std::string>{"a", "a/a", "a/b", "a.b"});
}

TEST_CASE("A tree has one merged receipt, in whatever order and parts it was moved") {
    const auto tree = whole_tree();
    // For a tree in order, the writer already produces the merged form.
    const std::string expected = receipt_of(tree);
    auto turned = tree;
    std::ranges::reverse(turned);
    const auto alone = merge_receipts({{"alone", receipt_of(turned)}});
    REQUIRE(alone);
    CHECK(alone->text == expected);
    for (std::size_t parts = 2; parts <= tree.size() + 1; ++parts) {
        std::vector<std::vector<Planned>> moved(parts, {directory({"a"})});
        for (std::size_t i = 1; i < tree.size(); ++i) moved[i % parts].push_back(tree[i]);
        std::vector<NamedReceipt> receipts;
        for (const auto& part : moved) receipts.push_back({"part", receipt_of(part)});
        const auto merged = merge_receipts(receipts);
        REQUIRE(merged);
        CHECK(merged->text == expected);
        // Merging in steps gives the same result.
        const std::vector<NamedReceipt> begun(receipts.begin(), receipts.begin() + 1);
        std::vector<NamedReceipt> rest(receipts.begin() + 1, receipts.end());
        rest.push_back({"begun", (*merge_receipts(begun)).text});
        CHECK((*merge_receipts(rest)).text == expected);
    }
}

TEST_CASE("Receipts that do not belong together are not merged") {
    const Planned one = file({"d", "x\n"}, "one");
    CHECK(says(refusal({one}, {one}), "'d/x\\x0a' is in both first and second"));
    CHECK(says(refusal({one}, {directory({"d", "x\n"})}), "is in both first and second"));
    CHECK(says(refusal({one, one}, {}), "is in first twice"));
    const Planned hard{EntryType::hard_link, {"h"}, "d/x"};
    CHECK(says(refusal({hard}, {hard}), "'h' is in both first and second"));
    CHECK(says(refusal({kLink}, {{EntryType::symlink, kLink.path, "elsewhere"}}), "'a/link' is in both"));
    CHECK(merge_receipts({{"first", receipt_of({kLink})}, {"second", receipt_of({kLink})}}));

    const auto hashes = merge_receipts(
        {{"first", receipt_of({one})}, {"second", receipt_of({directory({"d"})}, HashAlgorithm::xxh3_128)}});
    REQUIRE_FALSE(hashes);
    CHECK(hashes.error().code == ErrorCode::integrity);
    CHECK(says(hashes.error(), "second has another kind of hash than first"));
}

TEST_CASE("A receipt that was changed or cut anywhere is not merged, and named") {
    const NamedReceipt first{"first", receipt_of({directory({"d"})})};
    const std::string text = receipt_of({file({"d", "x"}, "one")});
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        for (const std::string& damaged : {changed, text.substr(0, i)}) {
            const auto merged = merge_receipts({first, {"second", damaged}});
            REQUIRE_FALSE(merged);
            REQUIRE(merged.error().code == ErrorCode::integrity);
            REQUIRE(merged.error().message.starts_with("second: the receipt cannot be trusted"));
        }
    }
}

TEST_CASE("A root that was computed of other files is not merged, though the end fits") {
    std::string text = receipt_of({file({"x"}, "one")});
    const std::string other = receipt_of({file({"x"}, "two")});
    const std::size_t root = text.find("root\t");
    text = text.substr(0, root) + other.substr(other.find("root\t"));
    const std::size_t end = text.find("end\t");
    text = text.substr(0, end + 4) + digest_of_text(HashAlgorithm::sha256, text.substr(0, end)).hex() + "\n";
    const auto merged = merge_receipts({{"forged", text}});
    REQUIRE_FALSE(merged);
    CHECK(merged.error().message == "forged: the receipt cannot be trusted: its root digest differs from its files");
}

namespace {

/// The receipt of shard `index` of `count`, which moved these parts of one file whose content is `content`.
std::string receipt_of_parts(std::size_t index, std::size_t count, const std::string& content,
                             const std::vector<FileRange>& parts, std::uint64_t split = 7, std::uint64_t run = 9) {
    const TemporaryDirectory at;
    const std::string path = at.path().string() + "/receipt";
    auto writer = ReceiptWriter::create(path);
    REQUIRE(writer);
    message::Offer offer;
    offer.hash = HashAlgorithm::sha256;
    offer.shard = JobShard{1, index, count, split};
    (*writer)->note(offer);
    if (run != 0) (*writer)->note(message::Job{run, 0, 0});
    std::uint64_t next = 0;
    for (const FileRange& part : parts) {
        message::Entry entry;
        entry.index = next++;
        entry.path = {"f"};
        entry.size = content.size();
        if (part.length < content.size()) entry.part = part;
        (*writer)->note(entry);
        FileDigest whole(offer.hash, content.size());
        const Digest piece = digest_of_text(offer.hash, content.substr(part.offset, part.length));
        whole.add(part.offset, part.length, piece);
        (*writer)->note(message::Extents{entry.index, {part}});
        (*writer)->note(message::Digests{entry.index, 0, {piece}});
        (*writer)->note(message::FileEnd{entry.index, FileStatus::ok, whole.finish()});
    }
    REQUIRE((*writer)->finish([](const std::string&) { return UniqueFd(); }));
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string merge_error(std::vector<std::string> texts) {
    std::vector<NamedReceipt> named;
    for (std::string& text : texts) named.push_back({"r" + std::to_string(named.size()), std::move(text)});
    const auto merged = merge_receipts(named);
    if (merged) return "";
    CHECK(merged.error().code == ErrorCode::integrity);
    return merged.error().message;
}

}  // namespace

TEST_CASE("the parts of a file become the file, whatever the order") {
    const std::string content(300, 'x');
    // Parts of a real file start at multiples of 8 MiB. Here the test compares pieces only.
    const std::string head = receipt_of_parts(0, 3, content, {{0, 100}});
    const std::string middle = receipt_of_parts(1, 3, content, {{100, 150}});
    const std::string tail = receipt_of_parts(2, 3, content, {{250, 50}});
    const auto merged = merge_receipts({{"b", middle}, {"c", tail}, {"a", head}});
    REQUIRE(merged);
    CHECK(merged->files == 1);
    CHECK(merged->bytes == 300);
    const auto parsed = parse_receipt(merged->text);
    REQUIRE(parsed);
    CHECK(parsed->entries.size() == 1);
    CHECK(parsed->entries[0].pieces.size() == 3);
    CHECK_FALSE(parsed->entries[0].part);
    CHECK_FALSE(parsed->shard);
    CHECK((*merge_receipts({{"again", merged->text}})).text == merged->text);
}

TEST_CASE("receipts of shards that met different runs of their job are not merged") {
    const std::string content(300, 'x');
    const auto part = [&](std::size_t i, std::uint64_t from, std::uint64_t n, std::uint64_t run) {
        return receipt_of_parts(i, 2, content, {{from, n}}, 7, run);
    };
    const std::string first = part(0, 0, 100, 9);
    CHECK((*parse_receipt(first)).shard->run == 9);
    CHECK(merge_error({first, part(1, 100, 200, 9)}).empty());
    CHECK(merge_error({first, part(1, 100, 200, 10)}).starts_with("r1 belongs to another run of the job than r0: "));
    // Without a job at the receiver nothing proves that both shards met one destination.
    CHECK(merge_error({first, part(1, 100, 200, 0)}).starts_with("r1 does not say which run of the job"));
    CHECK(merge_error({part(0, 0, 100, 0), part(1, 100, 200, 0)}).starts_with("r0 does not say"));
}

TEST_CASE("receipts of shards that are not all of one job are not merged") {
    const std::string content(300, 'x');
    const auto part = [&](std::size_t i, std::uint64_t from, std::uint64_t n) {
        return receipt_of_parts(i, 2, content, {{from, n}});
    };
    CHECK(merge_error({part(0, 0, 100), part(1, 100, 200)}).empty());
    CHECK(merge_error({part(0, 0, 100)}) == "the receipt of shard 1/2 is missing: give those of all shards");
    CHECK(merge_error({part(1, 0, 100), part(1, 100, 200)}) == "r0 and r1 are both of shard 1/2");
    CHECK(merge_error({part(0, 0, 100), part(1, 101, 199)}) == "'f': bytes 100 to 100 are missing in all receipts");
    CHECK(merge_error({part(0, 1, 99), part(1, 100, 200)}) == "'f': bytes 0 to 0 are missing in all receipts");
    CHECK(merge_error({part(0, 0, 100), part(1, 100, 199)}) == "'f': bytes 299 to 299 are missing in all receipts");
    CHECK_FALSE(merge_error({part(0, 0, 100), part(1, 99, 201)}).empty());
    CHECK_FALSE(merge_error({part(0, 0, 300), part(1, 100, 200)}).empty());
    CHECK(merge_error({part(0, 0, 100), receipt_of_parts(1, 2, content, {{100, 200}}, 8)}) ==
          "r1 belongs to another job than r0");
    CHECK(merge_error({part(0, 0, 100), receipt_of({file({"g"}, "1")})}) == "r1 belongs to another job than r0");
    CHECK_FALSE(merge_error({part(0, 0, 100), receipt_of_parts(1, 2, content + "y", {{100, 201}})}).empty());
}

TEST_CASE("A receipt has each path in the one form in which a transfer writes it") {
    const auto with_name = [](const std::string& name) {
        std::string text = receipt_of({directory({"a"})});
        text.replace(text.find("\ta\n"), 3, "\t" + name + "\n");
        text.erase(text.find("end\t"));
        Hasher hasher(HashAlgorithm::sha256);
        hasher.update(std::as_bytes(std::span(text)));
        return parse_receipt(text + "end\t" + hasher.finish().hex() + "\n");
    };
    CHECK(with_name("a").ok());
    CHECK(with_name("a/b").ok());
    for (const char* name : {"..", "../a", "a/..", ".", "./a", "a/./b", "/etc/passwd", "/", "", "b/", "a//b", "//a"}) {
        INFO(name);
        const auto parsed = with_name(name);
        REQUIRE_FALSE(parsed.ok());
        CHECK(parsed.error().code == ErrorCode::integrity);
    }
}

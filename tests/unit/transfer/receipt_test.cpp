#include "transfer/receipt/receipt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/transfer/receipt.hpp"

using namespace udtx;
using namespace udtx::transfer;
using udtx::test::TemporaryDirectory;

namespace {

constexpr HashAlgorithm kHash = HashAlgorithm::xxh3_128;

std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + 1) % 251);
    return bytes;
}

Digest hash_of(std::span<const std::byte> bytes) {
    Hasher hasher(kHash);
    hasher.update(bytes);
    return hasher.finish();
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, std::span<const std::byte> bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// A transfer of a 2.5 MiB file in two digest messages, a kept file, a file that failed, and a directory.
struct Rig {
    Rig() {
        auto made = ReceiptWriter::create(path);
        REQUIRE(made);
        writer = std::move(*made);
        writer->note(message::Offer{});
        message::Entry first;
        first.type = EntryType::directory;
        first.path = {"d\t1"};
        writer->note(first);
        FileDigest file(kHash, data.size());
        writer->note(entry(1, "f", data.size()));
        for (std::uint64_t i = 0; i < 3; ++i) {
            const std::uint64_t at = i * kPieceBytes;
            const auto piece = std::span(data).subspan(at, piece_length(at, data.size() - at));
            file.add(at, piece.size(), hash_of(piece));
            writer->note(message::Digests{1, i, {hash_of(piece)}});
        }
        writer->note(message::FileEnd{1, FileStatus::ok, file.finish()});
        writer->note(entry(2, "kept", 5));
        writer->note(message::FileEnd{2, FileStatus::kept, {}});
        writer->note(entry(3, "lost", 0));
        writer->note(message::FileEnd{3, FileStatus::ok, FileDigest(kHash, 0).finish()});
        writer->note(message::FileFailed{3, 0, "lost", "disk"});
        write_bytes(directory_path + "/kept", std::span(data).first(5));
        write_bytes(directory_path + "/f", data);
        std::filesystem::create_directory(directory_path + "/d\t1");
    }
    static message::Entry entry(std::uint64_t index, const std::string& name, std::uint64_t size) {
        message::Entry m;
        m.index = index;
        m.path = {name};
        m.size = size;
        m.whole = true;
        return m;
    }
    std::string finished() {
        const auto done = writer->finish([this](const std::string& name) {
            return UniqueFd(::open((directory_path + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
        });
        REQUIRE(done);
        return read_file(path);
    }
    /// The receipt, and whatever has a name that begins like its own.
    std::vector<std::string> beside() {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path())) {
            if (entry.path().string().starts_with(path)) found.push_back(entry.path().string());
        }
        return found;
    }
    std::vector<std::string> differences(const std::string& text) {
        std::vector<std::string> lines;
        const auto counts =
            check_receipt(text, directory_path, {[&](const std::string& line) { lines.push_back(line); }});
        REQUIRE(counts);
        CHECK(counts->entries == 3);
        CHECK(counts->files == 2);
        CHECK(counts->different == std::min<std::size_t>(lines.size(), 1));
        return lines;
    }

    TemporaryDirectory directory;
    std::string directory_path = directory.path().string();
    std::string path = directory_path + "/receipt";
    std::vector<std::byte> data = pattern(kPieceBytes * 5 / 2);
    std::unique_ptr<ReceiptWriter> writer;
};

}  // namespace

TEST_CASE("what is announced of a file takes no memory by its length") {
    const TemporaryDirectory directory;
    const std::string path = directory.path().string() + "/receipt";
    auto made = ReceiptWriter::create(path);
    REQUIRE(made);
    const auto& writer = *made;
    writer->note(message::Offer{});
    constexpr std::uint64_t kPetabyte = 1ULL << 50U;  // 2^30 pieces
    message::Entry vast = Rig::entry(1, "vast", kPetabyte);
    vast.whole = false;
    writer->note(vast);
    writer->note(message::Kept{1, {{kPieceBytes / 2, kPetabyte - kPieceBytes}}});
    const std::array<std::byte, 5> content{};
    writer->note(message::Digests{1, 0, {hash_of(content), hash_of(content)}});
    REQUIRE(writer->finish([](const std::string&) { return UniqueFd(); }));
    const std::string text = read_file(path);
    CHECK(text.find("piece\t524288\t524288\t" + hash_of(content).hex()) != std::string::npos);
    CHECK(text.find("piece\t1048576\t1048576\t" + hash_of(content).hex()) != std::string::npos);
}

TEST_CASE("A receipt of a transfer says what stands there, and finds the block that differs") {
    Rig rig;
    CHECK_FALSE(std::filesystem::exists(rig.path));
    const std::string text = rig.finished();
    CHECK(rig.differences(text).empty());

    rig.data[kPieceBytes + 5] ^= std::byte{1};
    write_bytes(rig.directory_path + "/f", rig.data);
    CHECK(rig.differences(text) == std::vector<std::string>{"f: bytes 1048576 to 2097151 differ"});
}

TEST_CASE("A receipt that was changed anywhere, or cut anywhere, is refused") {
    Rig rig;
    const std::string text = rig.finished();
    REQUIRE(parse_receipt(text));
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        const auto parsed = parse_receipt(changed);
        REQUIRE_FALSE(parsed);
        REQUIRE(parsed.error().code == ErrorCode::integrity);
        REQUIRE_FALSE(parse_receipt(std::string_view(text).substr(0, i)));
    }
    CHECK_FALSE(parse_receipt(text + "x\n"));
}

TEST_CASE("A receipt that is not finished, or of nothing, leaves no file") {
    Rig rig;
    rig.writer.reset();
    CHECK_FALSE(std::filesystem::exists(rig.path));
    CHECK(rig.beside().empty());

    auto empty = ReceiptWriter::create(rig.path);
    REQUIRE(empty);
    CHECK_FALSE((*empty)->finish([](const std::string&) { return UniqueFd(); }));
    CHECK_FALSE(ReceiptWriter::create(rig.directory_path + "/no/where"));
}

TEST_CASE("Two receipts of one name do not meet, and nothing beside them is touched") {
    Rig rig;
    const std::string mine = rig.path + ".udtx-part";
    write_bytes(mine, pattern(7));
    auto other = ReceiptWriter::create(rig.path);
    REQUIRE(other);
    message::Offer offer;
    offer.hash = HashAlgorithm::sha256;
    (*other)->note(offer);
    // One that is given up leaves the other alone.
    REQUIRE(ReceiptWriter::create(rig.path));
    const std::string first = rig.finished();
    CHECK(parse_receipt(first));
    REQUIRE((*other)->finish([](const std::string&) { return UniqueFd(); }));
    const std::string second = read_file(rig.path);
    CHECK(parse_receipt(second));
    CHECK(first != second);
    CHECK(read_file(mine).size() == 7);
    std::filesystem::remove(mine);
    CHECK(rig.beside() == std::vector<std::string>{rig.path});
}

TEST_CASE("A file that took the place of a receipt under way does not get its name") {
    const TemporaryDirectory directory;
    const std::string path = directory.path().string() + "/out";
    auto place = OutputPlace::find(path);
    REQUIRE(place);
    auto made = NewVersion::create(std::move(*place));
    REQUIRE(made);
    REQUIRE(::write(made->fd(), "text", 4) == 4);
    CHECK(made->commit(5) == EIO);
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(made->commit(4) == 0);
    CHECK(read_file(path) == "text");

    // Without a file that has no name, as on some file systems.
    auto again = OutputPlace::find(path);
    REQUIRE(again);
    auto named = NewVersion::create(std::move(*again), NewVersion::Name::early);
    REQUIRE(named);
    REQUIRE(::write(named->fd(), "other", 5) == 5);
    std::string temporary;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
        if (entry.path() != path) temporary = entry.path().string();
    }
    REQUIRE(temporary.starts_with(path + ".udtx-"));
    std::filesystem::remove(temporary);
    write_bytes(temporary, pattern(5));
    CHECK(named->commit(5) == ESTALE);
    named->discard();
    CHECK(read_file(path) == "text");
    CHECK(read_file(temporary).size() == 5);
}

TEST_CASE("A kept file that cannot be read is an error, not a gap") {
    Rig rig;
    const auto done = rig.writer->finish([](const std::string&) {
        errno = EACCES;
        return UniqueFd();
    });
    REQUIRE_FALSE(done);
    CHECK(done.error().code == ErrorCode::file_io);
    CHECK_FALSE(std::filesystem::exists(rig.path));
}

TEST_CASE("A receipt that lists what was not delivered is not merged") {
    Rig rig;
    const std::string text = rig.finished();
    const auto parsed = parse_receipt(text);
    REQUIRE(parsed.ok());
    CHECK(parsed->undelivered == std::vector<std::string>{"lost"});
    const auto merged = merge_receipts({{"first", text}});
    REQUIRE_FALSE(merged.ok());
    CHECK(merged.error().code == ErrorCode::integrity);
    CHECK(merged.error().message.find("first says that 'lost' was not delivered") != std::string::npos);
    CHECK(merge_receipts({}).error().code == ErrorCode::invalid_argument);
}

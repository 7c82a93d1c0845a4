#include "transfer/source/inquiries.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/file/pieces.hpp"
#include "udtx/descriptor.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr HashAlgorithm kKeptHash = HashAlgorithm::xxh3_128;

/// A file of two and a half pieces, and the pieces that a receiver has of it.
struct KeptRig {
    explicit KeptRig(const std::vector<std::uint64_t>& same, const std::vector<std::uint64_t>& other = {}) {
        content.resize(static_cast<std::size_t>(2 * kPieceBytes + kPieceBytes / 2));
        for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i / 1000);
        write_file(temp / "f", content);
        fd = UniqueFd(::open((temp / "f").c_str(), O_RDONLY | O_CLOEXEC));
        RemoteHolding holding;
        holding.has = Holding::last_pieces;
        for (const std::uint64_t offset : same) holding.pieces[offset] = piece_at(offset);
        for (const std::uint64_t offset : other) {
            holding.pieces[offset] = piece_at(offset);
            holding.pieces[offset].digest = Hasher(kKeptHash).finish();
        }
        kept.emplace(hasher, std::move(holding));
    }
    [[nodiscard]] ProvenPiece piece_at(std::uint64_t offset) const {
        const std::uint64_t length = piece_length(offset, content.size() - offset);
        Hasher plain(kKeptHash);
        plain.update(std::as_bytes(std::span(content)).subspan(offset, length));
        return {offset, length, plain.finish()};
    }
    [[nodiscard]] std::vector<ProvenPiece> take(std::uint64_t from) {
        return kept->take_run(fd.get(), {from, content.size() - from});
    }

    TemporaryDirectory temp;
    std::string content;
    UniqueFd fd;
    PieceHasher hasher{kKeptHash};
    std::optional<KeptPieces> kept;
};

}  // namespace

TEST_CASE("a file that is the same is known to be after its last piece") {
    KeptRig rig({0, kPieceBytes, 2 * kPieceBytes});
    for (int piece = 0; piece < 3; ++piece) CHECK_FALSE(rig.kept->compare(rig.fd.get(), rig.content.size()));
    CHECK(rig.kept->compare(rig.fd.get(), rig.content.size()) == true);
    CHECK(rig.kept->same_until() == rig.content.size());
}

TEST_CASE("the first piece that differs or is not there ends the comparison") {
    KeptRig differs({0}, {kPieceBytes});
    CHECK_FALSE(differs.kept->compare(differs.fd.get(), differs.content.size()));
    CHECK(differs.kept->compare(differs.fd.get(), differs.content.size()) == false);
    CHECK(differs.kept->same_until() == kPieceBytes);
    KeptRig lacks({});
    CHECK(lacks.kept->compare(lacks.fd.get(), lacks.content.size()) == false);
}

TEST_CASE("pieces that are the same are taken once, up to one that is not") {
    KeptRig rig({0, kPieceBytes}, {2 * kPieceBytes});
    const auto run = rig.take(0);
    REQUIRE(run.size() == 2);
    CHECK(run.back() == rig.piece_at(kPieceBytes));
    CHECK(rig.take(0).empty());
    CHECK(rig.take(2 * kPieceBytes).empty());
    CHECK(rig.kept->none());
}

TEST_CASE("what was compared is not read again to be taken") {
    KeptRig rig({0});
    CHECK_FALSE(rig.kept->compare(rig.fd.get(), rig.content.size()));
    rig.fd.reset();
    CHECK(rig.take(0).size() == 1);
}

TEST_CASE("data is fresh up to the next piece that the receiver has") {
    const KeptRig rig({2 * kPieceBytes});
    CHECK(rig.kept->fresh_run({0, rig.content.size()}) == 2 * kPieceBytes);
    CHECK(rig.kept->fresh_run({2 * kPieceBytes, kPieceBytes / 2}) == kPieceBytes / 2);
    const KeptRig none({});
    CHECK(none.kept->fresh_run({0, none.content.size()}) == none.content.size());
}

TEST_CASE("a piece that the file does not hold has no digest") {
    KeptRig rig({});
    CHECK(rig.hasher.hash(rig.fd.get(), kPieceBytes, kPieceBytes) == rig.piece_at(kPieceBytes).digest);
    CHECK_FALSE(rig.hasher.hash(rig.fd.get(), 2 * kPieceBytes, kPieceBytes));
    CHECK(rig.hasher.error() == ENODATA);
    CHECK_FALSE(rig.hasher.hash(rig.fd.get(), 0, 2 * kPieceBytes));
    rig.fd.reset();
    CHECK_FALSE(rig.hasher.hash(rig.fd.get(), 0, 1));
    CHECK(rig.hasher.error() == EBADF);
}

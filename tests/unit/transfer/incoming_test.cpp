#include "transfer/job/incoming.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/job/receive_job.hpp"

using namespace udtx;
using namespace udtx::transfer;

namespace {

struct IncomingRig {
    explicit IncomingRig(const std::string& rename = "") {
        options.rename = rename;
        base = ConfinedDir::open(temp.path().string()).value();
        said.emplace(options, pull, base, queue, landed);
    }
    /// The error if the message is refused; none if it is accepted.
    std::optional<ErrorCode> say(const Message& message) {
        const auto taken = said->take(message);
        return taken ? std::nullopt : std::optional(taken.error().code);
    }
    std::optional<ErrorCode> file(std::uint64_t index, const std::string& path, std::uint64_t size) {
        message::Entry entry;
        entry.index = index;
        entry.path = {path};
        entry.size = size;
        return say(entry);
    }
    /// Pops the next operation; none if it is of another kind.
    template <class Op>
    std::optional<Op> next() {
        auto out = queue.try_pop();
        auto* op = out ? std::get_if<Op>(&*out) : nullptr;
        return op == nullptr ? std::nullopt : std::optional<Op>(std::move(*op));
    }

    test::TemporaryDirectory temp;
    LandingOptions options;
    std::optional<PullOrder> pull;
    std::optional<ConfinedDir> base;
    LateWaker waker;
    JobReport report;
    ReceiveQueue queue{SIZE_MAX};
    LandingReport landed{waker, queue, report};
    std::optional<Incoming> said;
};

}  // namespace

TEST_CASE("a transfer begins with one offer, and what is not taken here is refused") {
    IncomingRig rig;
    CHECK(rig.file(0, "early", 1) == ErrorCode::protocol);
    message::Offer offer;
    offer.erase = true;
    CHECK(rig.say(offer) == ErrorCode::refused);
    CHECK_FALSE(rig.said->offer());
    CHECK_FALSE(rig.say(message::Offer{}));
    CHECK(rig.said->offer());
    CHECK(rig.say(message::Offer{}) == ErrorCode::protocol);
    CHECK(rig.say(message::Accept{}) == ErrorCode::protocol);
}

TEST_CASE("entries come in order, one file at a time, and its extents lie in it, one behind the other") {
    IncomingRig rig;
    REQUIRE_FALSE(rig.say(message::Offer{}));
    CHECK(rig.file(1, "second", 10) == ErrorCode::protocol);
    REQUIRE_FALSE(rig.file(0, "first", 100));
    CHECK(rig.file(1, "inside", 10) == ErrorCode::protocol);
    CHECK(rig.say(message::Extents{1, {{0, 10}}}) == ErrorCode::protocol);
    CHECK(rig.say(message::Extents{0, {{95, 10}}}) == ErrorCode::protocol);
    REQUIRE_FALSE(rig.say(message::Extents{0, {{20, 10}}}));
    CHECK(rig.say(message::Extents{0, {{25, 10}}}) == ErrorCode::protocol);
    CHECK(rig.say(message::FileEnd{1, FileStatus::ok, {}}) == ErrorCode::protocol);
    CHECK(rig.say(message::Finish{1, 10, 0, {}}) == ErrorCode::protocol);
    REQUIRE_FALSE(rig.say(message::FileEnd{0, FileStatus::ok, {}}));

    CHECK(rig.next<message::Entry>());
    const auto before = rig.next<op::Hole>();
    REQUIRE(before);
    CHECK(before->extent.offset == 0);
    CHECK(before->extent.length == 20);
    const auto behind = rig.next<op::Hole>();
    REQUIRE(behind);
    CHECK(behind->extent.offset == 30);
    CHECK(behind->extent.length == 70);
    const auto end = rig.next<op::EndFile>();
    REQUIRE(end);
    CHECK(end->pieces == 1);
}

TEST_CASE("the landing hears of the end when all that was announced is there, and of no more than that") {
    IncomingRig rig;
    REQUIRE_FALSE(rig.say(message::Offer{}));
    REQUIRE_FALSE(rig.file(0, "file", 4));
    REQUIRE_FALSE(rig.say(message::Extents{0, {{0, 4}}}));
    REQUIRE_FALSE(rig.say(message::FileEnd{0, FileStatus::ok, {}}));
    CHECK(rig.say(message::Finish{2, 4, 0, {}}) == ErrorCode::protocol);
    CHECK(rig.say(message::Finish{1, 5, 0, {}}) == ErrorCode::protocol);
    REQUIRE_FALSE(rig.say(message::Finish{1, 4, 0, {}}));
    CHECK(rig.file(1, "late", 0) == ErrorCode::protocol);
    REQUIRE(rig.said->hand_over());
    CHECK(rig.next<message::Entry>());
    CHECK(rig.next<op::EndFile>());
    CHECK(rig.queue.size() == 0);

    const std::vector<std::byte> bytes(4, std::byte{1});
    CHECK(rig.said->take_piece(0, bytes));
    REQUIRE(rig.said->hand_over());
    CHECK(rig.next<WholePiece>());
    CHECK(rig.next<message::Finish>());
    CHECK(rig.said->held() == 0);
}

TEST_CASE("names get the one name of the source here, and none may be a transfer's own") {
    IncomingRig rig("here");
    REQUIRE_FALSE(rig.say(message::Offer{}));
    message::Entry entry;
    entry.type = EntryType::directory;
    entry.path = {"there"};
    REQUIRE_FALSE(rig.say(entry));
    const auto directory = rig.next<message::Entry>();
    REQUIRE(directory);
    CHECK(directory->path == std::vector<std::string>{"here"});
    entry.index = 1;
    entry.path = {"there", temp_name(1)};
    CHECK(rig.say(entry) == ErrorCode::protocol);
    entry.path = {"there", ".."};
    CHECK(rig.say(entry) == ErrorCode::protocol);
    entry.path = {"there", std::string(256, 'n')};
    CHECK(rig.say(entry) == ErrorCode::refused);
    message::Query query;
    query.path = {"there", "file"};
    REQUIRE_FALSE(rig.say(query));
    const auto asked = rig.next<message::Query>();
    REQUIRE(asked);
    CHECK(asked->path == std::vector<std::string>{"here", "file"});
}

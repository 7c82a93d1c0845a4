#include "recovery/ecn.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::recovery;
using proto::Ecn;
using State = EcnMarking::State;

namespace {

/// Sends so many marked packets, and unmarked ones between them.
void send(EcnMarking& marking, PacketNumber& next, std::uint64_t packets) {
    while (packets > 0) {
        if (!marking.marks(next++)) continue;
        marking.on_sent();
        --packets;
    }
}

/// A path whose peer has counted the first test packet.
struct Capable {
    Capable() {
        send(marking, next, 1);
        REQUIRE(marking.on_ack(EcnCounts{.ect0 = 1}, 1) == 0);
        REQUIRE(marking.state() == State::capable);
        send(marking, next, 99);
    }
    EcnMarking marking{true};
    PacketNumber next = 0;
};

}  // namespace

TEST_CASE("ecn: the receiver counts each mark, and reports until the peer knows") {
    EcnReceipts receipts;
    receipts.count(Ecn::not_ect, 1);
    CHECK_FALSE(receipts.due());
    receipts.count(Ecn::ect0, 2);
    receipts.count(Ecn::ect0, 3);
    receipts.count(Ecn::ce, 4);
    receipts.count(Ecn::ect1, 5);
    CHECK(receipts.counts() == EcnCounts{.ect0 = 2, .ect1 = 1, .ce = 1});
    CHECK(receipts.due());
    receipts.on_ack_acknowledged(4);  // an ACK from before the last mark
    CHECK(receipts.due());
    receipts.on_ack_acknowledged(5);
    CHECK_FALSE(receipts.due());
    receipts.count(Ecn::not_ect, 6);
    CHECK_FALSE(receipts.due());
    receipts.count(Ecn::ce, 7);
    CHECK(receipts.due());
}

TEST_CASE("ecn: nothing is marked unless it is wanted") {
    EcnMarking marking(false);
    for (PacketNumber number = 0; number < 100; ++number) CHECK_FALSE(marking.marks(number));
    CHECK_FALSE(marking.on_lost(0));
    CHECK(marking.on_ack(EcnCounts{.ce = 5}, 0) == 0);
    marking.restart(0);
    CHECK(marking.state() == State::failed);
}

TEST_CASE("ecn: the test marks every other packet, ten in all") {
    EcnMarking marking(true);
    std::uint64_t marked = 0;
    for (PacketNumber number = 0; number < 100; ++number) {
        if (!marking.marks(number)) continue;
        CHECK_FALSE(marking.marks(number + 1));
        marking.on_sent();
        ++marked;
    }
    CHECK(marked == EcnMarking::kTestPackets);
    CHECK(marking.state() == State::testing);
}

TEST_CASE("ecn: after one ECT(0) that arrived all packets are marked") {
    Capable path;
    CHECK(path.marking.marks(1000));
    CHECK(path.marking.marks(1001));
    CHECK_FALSE(path.marking.on_lost(50));  // this loss is congestion
}

TEST_CASE("ecn: the test fails if all its packets are lost or marked with CE") {
    PacketNumber next = 0;
    EcnMarking marking(true);
    send(marking, next, EcnMarking::kTestPackets);
    const std::uint64_t with_ce = GENERATE(0U, 4U, 10U);
    if (with_ce > 0) CHECK(marking.on_ack(EcnCounts{.ce = with_ce}, with_ce) == 0);
    for (std::uint64_t i = with_ce; i < EcnMarking::kTestPackets; ++i) {
        CHECK(marking.state() == State::testing);
        CHECK(marking.on_lost(2 * i));
    }
    CHECK(marking.state() == State::failed);
    CHECK_FALSE(marking.marks(2 * next));
}

TEST_CASE("ecn: a path that removes marks fails at the first ACK") {
    PacketNumber next = 0;
    EcnMarking marking(true);
    send(marking, next, 3);
    CHECK(marking.on_ack(std::nullopt, 0) == 0);  // it acknowledges unmarked packets
    CHECK(marking.state() == State::testing);
    CHECK(marking.on_ack(std::nullopt, 1) == 0);
    CHECK(marking.state() == State::failed);
}

TEST_CASE("ecn: counts that cannot be true end the marks") {
    Capable path;
    EcnMarking& marking = path.marking;
    REQUIRE(marking.on_ack(EcnCounts{.ect0 = 50, .ce = 10}, 59) == 10);
    SECTION("ECT(0) falls") { CHECK(marking.on_ack(EcnCounts{.ect0 = 49, .ce = 20}, 5) == 0); }
    SECTION("CE falls") { CHECK(marking.on_ack(EcnCounts{.ect0 = 60, .ce = 9}, 5) == 0); }
    SECTION("fewer than were acknowledged") { CHECK(marking.on_ack(EcnCounts{.ect0 = 53, .ce = 11}, 5) == 0); }
    SECTION("no counts") { CHECK(marking.on_ack(std::nullopt, 1) == 0); }
    SECTION("more than were marked") { CHECK(marking.on_ack(EcnCounts{.ect0 = 80, .ce = 21}, 5) == 0); }
    SECTION("ECT(1)") { CHECK(marking.on_ack(EcnCounts{.ect0 = 55, .ect1 = 1, .ce = 10}, 5) == 0); }
    CHECK(marking.state() == State::failed);
}

TEST_CASE("ecn: each CE mark counts once, with an acknowledged packet") {
    Capable path;
    EcnMarking& marking = path.marking;
    CHECK(marking.on_ack(EcnCounts{.ect0 = 6, .ce = 4}, 5) == 4);
    CHECK(marking.on_ack(EcnCounts{.ect0 = 7, .ce = 4}, 1) == 0);
    // Marks of packets whose acknowledgement comes later wait for it.
    CHECK(marking.on_ack(EcnCounts{.ect0 = 7, .ce = 9}, 2) == 2);
    CHECK(marking.on_ack(EcnCounts{.ect0 = 17, .ce = 9}, 10) == 3);
    CHECK(marking.state() == State::capable);
}

TEST_CASE("ecn: a path that drops marked packets from now on is tested again, and fails") {
    Capable path;
    EcnMarking& marking = path.marking;
    marking.on_silence(path.next);
    CHECK(marking.state() == State::testing);
    CHECK_FALSE(marking.on_lost(path.next - 1));  // sent before the test
    PacketNumber number = path.next;
    send(marking, path.next, EcnMarking::kTestPackets);
    for (std::uint64_t i = 0; i < EcnMarking::kTestPackets; ++i) CHECK(marking.on_lost(number++));
    CHECK(marking.state() == State::failed);
    marking.on_silence(path.next);
    CHECK(marking.state() == State::failed);
}

TEST_CASE("ecn: another network is tested again") {
    Capable path;
    EcnMarking& marking = path.marking;
    REQUIRE(marking.on_ack(EcnCounts{.ect0 = 50, .ce = 10}, 59) == 10);
    SECTION("after a failure") {
        REQUIRE(marking.on_ack(std::nullopt, 1) == 0);
        REQUIRE(marking.state() == State::failed);
    }
    SECTION("while capable") {}
    marking.restart(path.next);
    marking.restart(path.next);
    CHECK(marking.state() == State::testing);
    send(marking, path.next, 2);
    CHECK(marking.on_ack(EcnCounts{.ect0 = 51, .ce = 11}, 2) == 1);
    CHECK(marking.state() == State::capable);
}

// Peers that hold the keys and do not keep the rules.
#include <algorithm>

#include "sim/check.hpp"
#include "sim/insider.hpp"
#include "wire/codec.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// A client that says what it likes once it has taken over from the honest one under whose keys it speaks.
class Rogue {
  public:
    explicit Rogue(TransportConfig server = {}) : provider_(shared_kit().provider()) {
        auto setup = symmetric("rogue client", {.bits_per_second = 1'000'000'000, .delay = 5ms});
        setup.client_provider = &provider_;
        setup.server = std::move(server);
        scenario = std::make_unique<Scenario>(std::move(setup));
        bulk = start_bulk(*scenario, {.bytes = 1'000'000'000, .close_when_delivered = false});
        SIM_REQUIRE(*scenario, scenario->run_until([&] { return bulk.receiver->received() > 20'000; }, 5s));
        scenario->network().set_filter([this](Instant, NodeId from, const Packet& p) {
            if (from != scenario->server().node()) return false;
            ++answers;
            answer_bytes += p.data.size();
            return false;
        });
        scenario->run_for(50ms);
        answers = 0;
        answer_bytes = 0;
        next_ = provider_.last_number() + 1;
    }

    std::size_t say(const std::function<void(wire::Writer&)>& fill, std::size_t size = 1200) {
        auto packet = provider_.forge(next_++, fill, size);
        const std::size_t bytes = packet.size();
        Scenario& s = *scenario;
        s.network().inject(1us, s.client().address(), s.server().address(), std::move(packet));
        return bytes;
    }
    void say(const wire::Frame& frame) {
        say([&](wire::Writer& w) { REQUIRE(wire::write_frame(w, frame)); });
    }
    [[nodiscard]] bool closed() const { return scenario->server().session().closed.has_value(); }

    TappedProvider provider_;
    std::unique_ptr<Scenario> scenario;
    Bulk bulk;
    std::uint64_t answers = 0;
    std::uint64_t answer_bytes = 0;
    PacketNumber next_ = 0;
};

constexpr std::uint64_t kHuge = (1ULL << 62U) - 1;
constexpr StreamId kOrdered = StreamId::make(1, StreamKind::ordered, Role::client);

}  // namespace

TEST_CASE("F5 mutated and then correctly sealed packets: only that connection closes") {
    int ended = 0;
    const auto seeds = static_cast<std::uint64_t>(200 * std::max(size_scale(), 0.2));
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        TappedProvider mutating(shared_kit().provider());
        auto setup = symmetric("mutations", {}, seed);
        setup.client_provider = &mutating;
        Scenario s(std::move(setup));
        std::vector<std::shared_ptr<Receiver>> receivers;
        s.server().listen(2, [&](proto::Connection&) {
            receivers.push_back(std::make_shared<Receiver>());
            return receivers.back();
        });
        const auto honest = std::make_shared<Sender>(Sender::Options{.bytes = 200'000});
        const auto broken = std::make_shared<Sender>(Sender::Options{.bytes = 200'000});
        s.client().connect(s.server().address(), honest);
        SIM_REQUIRE(s, s.run_until([&] { return s.client().session().connected_at.has_value(); }, 5s));
        const Session& victim = s.client().connect(s.server().address(), broken);
        SIM_REQUIRE(s, s.run_until([&] { return receivers.size() == 2; }, 5s));
        const ConnectionId mine = s.server().session(1).connection->setup().local;
        Prng prng(s.seed());
        mutating.set_tap([&](const TappedProvider::Sealing& sealing) {
            if (sealing.header.destination != mine || prng.below(20) != 0) return;
            for (std::uint64_t i = 0; i <= prng.below(4); ++i) {
                // The frames' headers stand at the front of the payload and are worth most of the trouble.
                const std::uint64_t reach =
                    prng.below(2) == 0 ? std::min<std::uint64_t>(16, sealing.payload.size()) : sealing.payload.size();
                sealing.payload[prng.below(reach)] = static_cast<std::byte>(prng.below(256));
            }
        });
        SIM_REQUIRE(s, s.run_until([&] { return receivers[0]->complete(200'000); }, 10s));
        s.run_for(60s);
        if (victim.closed && !victim.closed->orderly()) ++ended;
        SIM_CHECK(s, s.client().session(0).closed->orderly());
    }
    CHECK(ended > 0);
}

TEST_CASE("F33 an acknowledgement of what was never sent closes the connection at once") {
    wire::AckFrame ack;
    ack.count = 1;
    SECTION("beyond the newest") { ack.ranges[0] = {.first = 100'000, .last = 100'000}; }
    SECTION("the largest number there is") { ack.ranges[0] = {.first = 0, .last = kHuge}; }
    Rogue rogue;
    rogue.say([&](wire::Writer& w) { REQUIRE(wire::write_ack(w, ack)); });
    Scenario& s = *rogue.scenario;
    s.run_for(10ms);
    SIM_REQUIRE(s, rogue.closed());
    SIM_CHECK(s, s.server().session().closed->code == ErrorCode::protocol);
}

TEST_CASE("F33 an acknowledgement of a skipped number closes the sender within a round trip") {
    TappedProvider keys(shared_kit().provider());
    auto setup = symmetric("optimistic acknowledgements", {.bits_per_second = 1'000'000'000, .delay = 5ms});
    setup.server_provider = &keys;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000, .close_when_delivered = false});
    // A number in 1,000 to 5,096 is skipped.
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().stats().paths.at(0).sent_packets > 6000; }, 20s));
    wire::AckFrame ack;
    ack.count = 1;
    ack.ranges[0] = {.first = 0, .last = 5999};
    s.network().inject(
        1us, s.server().address(), s.client().address(),
        keys.forge(keys.last_number() + 1000, [&](wire::Writer& w) { REQUIRE(wire::write_ack(w, ack)); }));
    s.run_for(10ms);
    SIM_REQUIRE(s, s.client().session().closed);
    SIM_CHECK(s, s.client().session().closed->code == ErrorCode::protocol);
}

TEST_CASE("F37 identifiers, offsets and limits up to 2^62: the connection ends or goes on, memory stays") {
    const std::array<std::byte, 1> byte{};
    const StreamId last = StreamId::make((1ULL << 60U) - 1, StreamKind::ordered, Role::client);
    struct Case {
        std::string name;
        wire::Frame frame;
        bool ends;
    };
    const std::vector<Case> cases{
        {"stream", wire::StreamFrame{.id = last, .offset = 0, .data = byte}, true},
        {"offset", wire::StreamFrame{.id = kOrdered, .offset = kHuge - 1, .data = byte}, true},
        {"empty stream at the largest offset", wire::StreamFrame{.id = kOrdered, .offset = kHuge, .data = {}}, true},
        {"final size", wire::ResetStreamFrame{.id = kOrdered, .code = kHuge, .final_size = kHuge}, true},
        {"reset of a stream", wire::ResetStreamFrame{.id = last, .code = 0, .final_size = 0}, true},
        {"stop", wire::StopSendingFrame{.id = last, .code = kHuge}, true},
        {"stream limit", wire::MaxStreamDataFrame{.id = last, .limit = kHuge}, true},
        {"stream of the server", wire::MaxStreamDataFrame{.id = StreamId{last.value | 1U}, .limit = 1}, true},
        {"limit of the connection", wire::MaxDataFrame{.limit = kHuge}, false},
        {"limit of streams", wire::MaxStreamsFrame{.limit = kHuge}, false},
        {"rates",
         wire::RateFeedbackFrame{.path = PathId{0},
                                 .pair_bytes = 65535,
                                 .arrival_pps = kHuge,
                                 .capacity_pps = kHuge,
                                 .pair_gap_ns = kHuge,
                                 .line_pps = kHuge,
                                 .receive_time_us = wire::kMaxMicroseconds},
         false},
    };
    for (const Case& c : cases) {
        Rogue rogue;
        rogue.say(c.frame);
        Scenario& s = *rogue.scenario;
        s.note(c.name);
        s.run_for(100ms);
        SIM_CHECK(s, rogue.closed() == c.ends);
        if (rogue.closed()) SIM_CHECK(s, s.server().session().closed->code == ErrorCode::protocol);
    }
}

TEST_CASE("F38 one-byte holes over the whole window: the peer is cut off when there are more than loss can make") {
    const std::array<std::byte, 1> byte{};
    for (const StreamKind kind : {StreamKind::ordered, StreamKind::placed}) {
        Rogue rogue;
        Scenario& s = *rogue.scenario;
        const StreamId id = StreamId::make(1, kind, Role::client);
        std::uint64_t offset = 1;
        for (int packets = 0; packets < 2000 && !rogue.closed(); ++packets) {
            rogue.say([&](wire::Writer& w) {
                while (wire::write_frame(w, wire::StreamFrame{.id = id, .offset = offset, .data = byte})) offset += 2;
            });
            s.run_for(10us);
        }
        SIM_REQUIRE(s, rogue.closed());
        SIM_CHECK(s, offset / 2 > 100'000);  // what loss can make is taken
        SIM_CHECK(s, offset / 2 < 140'000);
    }
}

TEST_CASE("F40 a flood of path challenges from the peer's own address: answers are no more than questions") {
    Rogue rogue;
    Scenario& s = *rogue.scenario;
    std::uint64_t asked = 0;
    for (int i = 0; i < 10'000; ++i) {
        asked += rogue.say([&](wire::Writer& w) {
            for (std::uint64_t k = 0; k < 4; ++k) REQUIRE(wire::write_frame(w, wire::PathChallengeFrame{k}));
        });
        if (i % 100 == 99) s.run_for(1ms);
    }
    s.run_for(1s);
    SIM_CHECK(s, !rogue.closed());
    SIM_CHECK(s, rogue.answers >= 100);
    SIM_CHECK(s, rogue.answer_bytes <= 3 * asked);
}

TEST_CASE("a peer that sends but acknowledges nothing is cut off") {
    Rogue rogue;
    Scenario& s = *rogue.scenario;
    // Something of the server's stays unacknowledged: its answer to the challenge.
    rogue.say(wire::PathChallengeFrame{1});
    for (int i = 0; i < 100'000 && !rogue.closed(); ++i) {
        rogue.next_ += 1;  // a gap: every packet is acknowledged at once
        rogue.say(wire::PingFrame{});
        if (i % 10 == 9) s.run_for(100us);
    }
    SIM_REQUIRE(s, rogue.closed());
    SIM_CHECK(s, s.server().session().closed->code == ErrorCode::protocol);
}

TEST_CASE("F41 windows of 2^62 are no promise to fill them: the sender's memory stays bounded") {
    auto setup = symmetric("huge windows", {.bits_per_second = 10'000'000});
    setup.server.connection_window = kHuge;
    setup.server.stream_window = kHuge;
    setup.client.send_buffer = 1U << 20U;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 3'000'000});
    s.run_for(500ms);
    SIM_CHECK(s, bulk.sender->written() <= s.client().session().stats().stream_bytes_sent + (2U << 20U));
    SIM_CHECK(s, s.client().session().stats().paths.at(0).window <= (256U << 20U));
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
}

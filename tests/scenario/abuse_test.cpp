// Peers that hold the keys and break the rules.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/check.hpp"
#include "sim/insider.hpp"
#include "test/fault_case.hpp"
#include "test/resident.hpp"
#include "wire/frame.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// A client that takes over from an honest one and sends arbitrary packets under its keys.
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

namespace {

/// Changes to a packet before it is sealed. Changed bytes of stream data are undetectable; bytes that form no valid
/// frame are a protocol violation.
enum class Mutation { unknown_type, cut_short, first_bytes, any_bytes, whole };
constexpr std::array kMutations{std::pair{Mutation::unknown_type, "a frame of an unknown type"},
                                std::pair{Mutation::cut_short, "a frame that is longer than the packet"},
                                std::pair{Mutation::first_bytes, "1 to 4 of the first 16 bytes"},
                                std::pair{Mutation::any_bytes, "1 to 4 bytes anywhere"},
                                std::pair{Mutation::whole, "all bytes"}};

void mutate(Mutation mutation, std::span<std::byte> payload, Prng& prng) {
    const auto random = [&prng] { return static_cast<std::byte>(prng.below(256)); };
    const auto flip = [&](std::size_t reach) {
        const std::uint64_t bytes = 1 + prng.below(4);
        for (std::uint64_t i = 0; i < bytes; ++i) payload[prng.below(reach)] = random();
    };
    switch (mutation) {
        case Mutation::unknown_type:
            payload[0] = static_cast<std::byte>(0x16 + prng.below(0xea));
            break;
        case Mutation::cut_short: {
            // A CRYPTO frame with a length of 16,383 bytes, which is longer than the packet.
            constexpr std::array head{std::byte{0x03}, std::byte{0}, std::byte{0x7f}, std::byte{0xff}};
            if (payload.size() > head.size()) std::ranges::copy(head, payload.begin());
            break;
        }
        case Mutation::first_bytes:
            flip(std::min<std::size_t>(16, payload.size()));
            break;
        case Mutation::any_bytes:
            flip(payload.size());
            break;
        case Mutation::whole:
            std::ranges::generate(payload, random);
            break;
    }
}

struct Mutated {
    std::uint64_t packets = 0;  ///< changed packets of the broken connection
    bool ended = false;
    std::size_t others = 0;  ///< other connections that delivered everything
};

constexpr std::size_t kOthers = 3;

/// Runs several connections between the same two ends. The packets of one of them are changed, either the client's or
/// the server's.
Mutated run_mutated(Mutation mutation, bool by_client, std::uint64_t seed) {
    constexpr std::uint64_t kBytes = 200'000;
    TappedProvider mutating(shared_kit().provider());
    auto setup = symmetric("mutations", {}, seed);
    (by_client ? setup.client_provider : setup.server_provider) = &mutating;
    Scenario s(std::move(setup));
    std::vector<std::shared_ptr<Receiver>> receivers;
    s.server().listen(kOthers + 1, [&](proto::Connection&) {
        receivers.push_back(std::make_shared<Receiver>());
        return receivers.back();
    });
    for (std::size_t i = 0; i <= kOthers; ++i) {
        s.client().connect(s.server().address(), std::make_shared<Sender>(Sender::Options{.bytes = kBytes}));
        SIM_REQUIRE(s, s.run_until([&] { return receivers.size() == i + 1; }, 10s));
    }
    // The destination id identifies a connection's packets.
    SimHost& far = by_client ? s.server() : s.client();
    const ConnectionId broken = far.session(kOthers).connection->local_id();
    Mutated result;
    Prng prng(s.seed());
    mutating.set_tap([&](const TappedProvider::Sealing& sealing) {
        if (sealing.header.destination != broken || sealing.payload.empty()) return;
        if (by_client && prng.below(4) != 0) return;  // the server sends few packets
        mutate(mutation, sealing.payload, prng);
        ++result.packets;
    });
    s.run_for(60s);
    const auto& closed = far.session(kOthers).closed;
    result.ended = closed && !closed->orderly();
    for (std::size_t i = 0; i < kOthers; ++i) {
        SIM_CHECK(s, receivers[i]->complete(kBytes));
        SIM_CHECK(s, s.client().session(i).closed->orderly());
        SIM_CHECK(s, s.server().session(i).closed->orderly());
        if (receivers[i]->complete(kBytes)) ++result.others;
    }
    return result;
}

}  // namespace

TEST_CASE("F05 mutated and then correctly sealed packets: only that connection closes") {
    const auto seeds = static_cast<std::uint64_t>(20 * std::max(size_scale(), 0.1));
    for (const auto& [mutation, name] : kMutations) {
        for (const bool by_client : {true, false}) {
            std::uint64_t ended = 0;
            std::uint64_t packets = 0;
            std::size_t others = 0;
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                const Mutated run = run_mutated(mutation, by_client, seed);
                CHECK(run.packets > 0);
                packets += run.packets;
                ended += run.ended ? 1 : 0;
                others += run.others;
            }
            INFO(name << (by_client ? ", the client's: " : ", the server's: ") << ended << " of " << seeds << " ended");
            // An invalid frame always ends the connection. Random bytes may happen to be frames or stream data.
            const bool certain = mutation == Mutation::unknown_type || mutation == Mutation::cut_short;
            CHECK(ended >= (certain ? seeds : 1));
            CHECK(others == kOthers * seeds);
            test::fault_case(5,
                             std::string(name) + (by_client ? ", the client's: " : ", the server's: ") +
                                 "only that connection closes",
                             ended, " of ", seeds, " closed, ", others, " of ", kOthers * seeds, " others complete; ",
                             packets, " packets");
        }
    }
}

TEST_CASE("F33 an acknowledgement of what was never sent closes the connection at once") {
    wire::AckFrame ack;
    ack.count = 1;
    SECTION("beyond the newest") { ack.ranges[0] = {.first = 100'000, .last = 100'000}; }
    SECTION("the largest number there is") { ack.ranges[0] = {.first = 0, .last = kHuge}; }
    Rogue rogue;
    Scenario& s = *rogue.scenario;
    const Instant said = s.events().now();
    rogue.say([&](wire::Writer& w) { REQUIRE(wire::write_ack(w, ack)); });
    s.run_for(10ms);
    SIM_REQUIRE(s, rogue.closed());
    SIM_CHECK(s, s.server().session().closed->code == ErrorCode::protocol);
    test::fault_case(33, "acknowledgement of an unsent packet: closed within a round trip (10 ms)",
                     1e3 * to_seconds(*s.server().session().closed_at - said), " ms");
}

TEST_CASE("F33 an acknowledgement of a skipped number closes the sender within a round trip") {
    TappedProvider keys(shared_kit().provider());
    auto setup = symmetric("optimistic acknowledgements", {.bits_per_second = 1'000'000'000, .delay = 5ms});
    setup.server_provider = &keys;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000, .close_when_delivered = false});
    // The sender skips a packet number between 1,000 and 5,096.
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().stats().paths.at(0).sent_packets > 6000; }, 20s));
    wire::AckFrame ack;
    ack.count = 1;
    ack.ranges[0] = {.first = 0, .last = 5999};
    s.network().inject(
        1us, s.server().address(), s.client().address(),
        keys.forge(keys.last_number() + 1000, [&](wire::Writer& w) { REQUIRE(wire::write_ack(w, ack)); }));
    const Instant said = s.events().now();
    s.run_for(10ms);
    SIM_REQUIRE(s, s.client().session().closed);
    SIM_CHECK(s, s.client().session().closed->code == ErrorCode::protocol);
    test::fault_case(33, "acknowledgement of a skipped number: closed within a round trip (10 ms)",
                     1e3 * to_seconds(*s.client().session().closed_at - said), " ms");
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
    const std::uint64_t before = test::resident_bytes();
    std::size_t ended = 0;
    for (const Case& c : cases) {
        Rogue rogue;
        rogue.say(c.frame);
        Scenario& s = *rogue.scenario;
        s.note(c.name);
        s.run_for(100ms);
        SIM_CHECK(s, rogue.closed() == c.ends);
        if (rogue.closed()) SIM_CHECK(s, s.server().session().closed->code == ErrorCode::protocol);
        ended += rogue.closed() ? 1 : 0;
    }
    const std::uint64_t grown = test::resident_bytes() - std::min(before, test::resident_bytes());
    if (size_scale() == 1.0) CHECK(grown <= 32U << 20U);  // a sanitizer keeps freed memory
    test::fault_case(37, "each of 11 fields at 2^62: closed or unchanged, RSS grows by at most 32 MiB", ended,
                     " closed, ", grown >> 20U, " MiB");
}

TEST_CASE("F38 one-byte holes over the whole window: RSS is bounded by the window, and endless holes end it") {
    const std::array<std::byte, 1> byte{};
    // 128,000 holes: loss alone can cause that many, so the peer accepts them
    constexpr std::uint64_t kWindow = 256'000;
    for (const StreamKind kind : {StreamKind::ordered, StreamKind::unordered}) {
        for (const bool endless : {false, true}) {
            TransportConfig server;
            if (!endless) server.stream_window = kWindow;
            Rogue rogue(server);
            Scenario& s = *rogue.scenario;
            const StreamId id = StreamId::make(1, kind, Role::client);
            const std::uint64_t end = endless ? 1'000'000'000 : kWindow - 1;
            std::uint64_t offset = 1;
            const std::uint64_t before = test::resident_bytes();
            while (offset < end && !rogue.closed()) {
                rogue.say([&](wire::Writer& w) {
                    while (offset < end &&
                           wire::write_frame(w, wire::StreamFrame{.id = id, .offset = offset, .data = byte}))
                        offset += 2;
                });
                s.run_for(10us);
            }
            s.run_for(1ms);
            const std::uint64_t grown = test::resident_bytes() - std::min(before, test::resident_bytes());
            const std::uint64_t holes = offset / 2;
            SIM_CHECK(s, rogue.closed() == endless);
            SIM_CHECK(s, holes > 100'000);  // the number of holes that loss can cause is accepted
            SIM_CHECK(s, holes < 140'000);
            const std::uint64_t most = (endless ? TransportConfig{}.stream_window : kWindow) + (16U << 20U);
            if (size_scale() == 1.0) SIM_CHECK(s, grown <= most);  // a sanitizer keeps freed memory
            test::fault_case(38,
                             std::string(kind == StreamKind::ordered ? "ordered" : "unordered") +
                                 (endless ? ", endless: closed before 140,000 holes" : ", over the window of 256 kB") +
                                 ", RSS grows by at most the window and 16 MiB",
                             holes, " holes, ", static_cast<double>(grown) / (1U << 20U), " MiB");
        }
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
    test::fault_case(40, "40,000 path challenges: answers have at most 3 times their bytes", rogue.answer_bytes,
                     " for ", asked);
}

TEST_CASE("a peer that sends but acknowledges nothing is cut off") {
    Rogue rogue;
    Scenario& s = *rogue.scenario;
    // One packet of the server stays unacknowledged: its answer to the challenge.
    rogue.say(wire::PathChallengeFrame{1});
    for (int i = 0; i < 100'000 && !rogue.closed(); ++i) {
        rogue.next_ += 1;  // a gap: the server acknowledges every packet at once
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
    const std::uint64_t ahead = bulk.sender->written() - s.client().session().stats().stream_bytes_sent;
    SIM_CHECK(s, ahead <= 2U << 20U);
    SIM_CHECK(s, s.client().session().stats().paths.at(0).window <= (256U << 20U));
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    test::fault_case(41, "windows of 2^62: at most 2 MiB are written and not yet sent", ahead, " bytes");
}

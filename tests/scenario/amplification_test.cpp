// How much a host can be made to send, and by which peers.
#include <algorithm>

#include "crypto/packet_protection.hpp"
#include "sim/check.hpp"
#include "sim/insider.hpp"
#include "test/fault_case.hpp"
#include "wire/frame.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// Records the packets that leave the client, and counts those that leave the server.
struct Watch {
    explicit Watch(Scenario& s) {
        s.network().set_filter([this, &s](Instant, NodeId from, const Packet& p) {
            if (from == s.server().node()) {
                ++server_packets;
                server_bytes += p.data.size();
                return true;
            }
            client_bytes += p.data.size();
            client.push_back(p.data);
            return pass_client(p);
        });
    }
    std::function<bool(const Packet&)> pass_client = [](const Packet&) { return true; };
    std::vector<std::vector<std::byte>> client;
    std::uint64_t client_bytes = 0;
    std::uint64_t server_bytes = 0;
    std::uint64_t server_packets = 0;
};

/// A packet that any observer of a HELLO can make: a handshake packet without the server's id.
std::vector<std::byte> blind_ping(crypto::Provider& provider, const wire::LongHeader& hello) {
    wire::LongHeader header;
    header.type = wire::LongType::handshake;
    header.destination = hello.destination;
    header.source = hello.source;
    header.packet_number = 77;
    std::vector<std::byte> out(200);
    const std::size_t header_bytes = wire::write_long_header(header, out);
    wire::Writer w(std::span<std::byte>(out).subspan(header_bytes));
    (void)wire::write_frame(w, wire::PingFrame{});
    out.resize(header_bytes + w.size() + wire::kTagBytes);
    auto keys = crypto::derive_initial(provider, hello.destination);
    keys.client.aead->seal(crypto::make_nonce(keys.client.iv, PathId{0}, header.packet_number), out, header_bytes);
    return out;
}

}  // namespace

// The cookie validates the address before any long TLS flight. Therefore the credit of three times the received bytes
// never matters. The server sends fewer bytes than it received before the cookie, and a few copies of one flight after
// it.
TEST_CASE("F28 a client that falls silent after its cookie gets at most three times what it sent") {
    Scenario s(symmetric("silent after the cookie", {}));
    Watch watch(s);
    int hellos = 0;
    watch.pass_client = [&](const Packet& p) {
        const auto h = wire::parse_long_header(p.data);
        return h && h->type == wire::LongType::hello && ++hellos <= 2;  // without and with the cookie
    };
    const Bulk bulk = start_bulk(s, {.bytes = 1000});
    SIM_REQUIRE(s, s.run_until([&] { return s.server().endpoint().half_open_count() == 1; }, 1s));
    SIM_CHECK(s, watch.server_bytes <= watch.client_bytes);
    const std::uint64_t passed = 2 * wire::kMinInitialDatagram;
    s.run_for(1s);
    SIM_CHECK(s, watch.server_bytes <= 3 * passed);
    test::fault_case(28, "a client that stops after its cookie gets at most 3 times its bytes within a second",
                     watch.server_bytes, " bytes for ", passed);
    s.run_for(30s);
    // The address is validated by then. The answers to a silent client are limited by probes, one every 610 ms while
    // there is no RTT sample, until the timeout of 10 s.
    SIM_CHECK(s, watch.server_packets <= 20);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
}

TEST_CASE("F28 a client that falls silent after a proof instead of a cookie gets no more than it sent") {
    for (const bool pretends : {false, true}) {
        ScenarioSetup setup = symmetric("silent after the proof", {});
        setup.client_hello_key = setup.server_hello_key = crypto::Secret{};
        Scenario s(std::move(setup));
        Watch watch(s);
        std::uint64_t passed = 0;
        watch.pass_client = [&](const Packet& p) {
            const auto h = wire::parse_long_header(p.data);
            if (!h || h->type != wire::LongType::hello || passed > 0) return false;
            passed = p.data.size();
            if (pretends) {
                auto ping = blind_ping(shared_kit().provider(), *h);
                passed += ping.size();
                s.network().inject(100ms, p.from, p.to, std::move(ping));
            }
            return true;
        };
        const Bulk bulk = start_bulk(s, {.bytes = 1000});
        SIM_REQUIRE(s, s.run_until([&] { return s.server().endpoint().half_open_count() == 1; }, 1s));
        s.run_for(30s);
        SIM_CHECK(s, watch.server_bytes > 0);
        SIM_CHECK(s, watch.server_bytes <= passed);
        test::fault_case(28, "a client that stops after a proof gets at most its own bytes", watch.server_bytes,
                         " bytes for ", passed);
        SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
    }
}

TEST_CASE("F29 duplicates of packets from a new address count once for its credit") {
    Scenario s(symmetric("duplicated spoofed path", {}));
    struct Victim final : Host {
        void on_datagram(Instant, const Address&, const Address&, std::span<std::byte> data, proto::Ecn) override {
            bytes += data.size();
        }
        std::uint64_t bytes = 0;
    } victim;
    const Address spoofed = make_address(66, 6666);
    const NodeId node = s.network().add_node("victim", spoofed, &victim);
    s.network().connect(s.server().node(), node, {&s.network().add_link("server to victim", {})});
    std::uint64_t unique = 0;
    int to_spoof = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        if (from != s.client().node() || to_spoof == 0) return true;
        --to_spoof;
        unique += p.data.size();
        for (int i = 0; i < 50; ++i) s.network().inject(5ms + i * 1us, spoofed, p.to, p.data);
        return false;
    });
    const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
    s.at(300ms, "one packet arrives fifty times from the victim's address", [&] { to_spoof = 1; });
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    s.run_for(5s);
    SIM_CHECK(s, unique > 0);
    SIM_CHECK(s, victim.bytes > 0);
    SIM_CHECK(s, victim.bytes <= 3 * unique);
    test::fault_case(29, "one packet 50 times from a new address: at most 3 times its bytes", victim.bytes,
                     " bytes for ", unique);
    SIM_CHECK(s, s.server().session().moves.empty());
}

TEST_CASE("F31 two servers that are made to believe in each other do not loop") {
    Scenario s(symmetric("cross-spoofed servers", {}));
    Watch watch(s);
    const Bulk bulk = start_bulk(s, {.bytes = 10'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done() && s.server().session().closed; }, 5s));
    s.client().listen(4, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    s.run_for(20s);
    // Sends every recorded kind of packet, and one more, to each of the two with the other's source address.
    auto packets = watch.client;
    std::vector<std::byte> foreign = packets.front();
    foreign[4] ^= std::byte{0x7f};  // another version
    packets.push_back(foreign);
    watch.server_packets = 0;
    watch.client.clear();
    for (const auto& data : packets) {
        s.network().inject(1us, s.client().address(), s.server().address(), data);
        s.network().inject(1us, s.server().address(), s.client().address(), data);
    }
    s.run_for(60s);
    SIM_CHECK(s, watch.server_packets + watch.client.size() > 0);
    SIM_CHECK(s, watch.server_packets + watch.client.size() <= 2 * packets.size());
    test::fault_case(31, "cross-spoofed in virtual time: at most one packet for each injected one",
                     watch.server_packets + watch.client.size(), " for ", 2 * packets.size());
}

namespace {

/// Turns ACK frames into padding.
void blank_acks(std::span<std::byte> payload) {
    wire::Reader in(payload);
    wire::AckFrame ack;
    while (!in.empty()) {
        const std::size_t begin = payload.size() - in.remaining();
        const auto frame = wire::read_frame(in, ack);
        if (!frame) return;
        if (!std::holds_alternative<wire::AckFrameView>(*frame)) continue;
        const std::size_t end = payload.size() - in.remaining();
        std::ranges::fill(payload.subspan(begin, end - begin), std::byte{0});
    }
}

/// Bytes that arrive in 4 s if the receiver splits each acknowledgement into `parts` and sends every part twice.
std::uint64_t arrives(std::size_t parts, std::uint64_t seed) {
    TappedProvider keys(shared_kit().provider());
    TappedProvider client_keys(shared_kit().provider());
    auto setup = symmetric("acknowledgements in parts", {.bits_per_second = 50'000'000, .delay = 25ms}, seed);
    setup.server_provider = &keys;
    setup.client_provider = &client_keys;
    Scenario s(std::move(setup));
    // The server's packets get other numbers after the tap. The server must not receive acknowledgements of those.
    client_keys.set_tap([](const TappedProvider::Sealing& sealing) { blank_acks(sealing.payload); });
    PacketNumber next = 0;
    std::vector<std::vector<std::byte>> forged;
    bool forging = false;
    std::map<PacketNumber, PacketNumber> told;  // ranges acknowledged so far: only the growth of a range is new
    keys.set_tap([&](const TappedProvider::Sealing& sealing) {
        if (forging || parts == 1) return;
        forging = true;
        wire::Reader in(sealing.payload);
        wire::AckFrame ack;
        const std::vector<std::byte> whole(sealing.payload.begin(), sealing.payload.end());
        while (!in.empty()) {
            const auto frame = wire::read_frame(in, ack);
            if (!frame || !std::holds_alternative<wire::AckFrameView>(*frame)) continue;
            ack.arrival_count = 0;
            const wire::AckRange newest = ack.ranges[0];
            const PacketNumber from = std::max(told[newest.first], newest.first);
            told[newest.first] = newest.last;
            for (std::size_t i = 1; i < parts && newest.last > from; ++i) {
                ack.ranges[0].last = from + (newest.last - from) * i / parts;
                for (int twice = 0; twice < 2; ++twice) {
                    forged.push_back(keys.forge(next++, [&](wire::Writer& w) { (void)wire::write_ack(w, ack); }));
                }
            }
        }
        forged.push_back(keys.forge(
            next++, [&](wire::Writer& w) { w.bytes(whole); }, whole.size() + 30));
        forging = false;
    });
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        if (parts == 1 || from != s.server().node() || wire::is_long_header(p.data)) return true;
        Duration after = 25ms;
        for (auto& packet : std::exchange(forged, {})) s.network().inject(after += 1us, p.from, p.to, packet);
        return false;
    });
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000});
    s.run_for(4s);
    SIM_CHECK(s, bulk.receiver->intact());
    SIM_CHECK(s, !s.client().session().closed);
    return bulk.receiver->received();
}

}  // namespace

TEST_CASE("F34 acknowledgements in parts and twice make nobody faster") {
    double most = 0.0;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const std::uint64_t honest = arrives(1, seed);
        const std::uint64_t divided = arrives(10, seed);
        INFO("honest " << honest << " divided " << divided);
        CHECK(honest > 1'000'000);
        CHECK(static_cast<double>(divided) <= 1.1 * static_cast<double>(honest));
        most = std::max(most, static_cast<double>(divided) / static_cast<double>(honest));
    }
    test::fault_case(34, "each acknowledgement in 10 parts and twice: at most 1.1 times an honest receiver's bytes",
                     most, " times");
}

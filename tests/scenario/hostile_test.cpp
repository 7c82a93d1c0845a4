// Replays, forgeries, spoofed sources.
#include <algorithm>

#include "crypto/packet_protection.hpp"
#include "sim/check.hpp"
#include "test/fault_case.hpp"
#include "victim.hpp"
#include "wire/frame.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

struct Recorded {
    bool by_client = false;
    Address from;
    Address to;
    std::vector<std::byte> data;
};

/// Records every packet that leaves a host.
void record(Scenario& s, std::vector<Recorded>& tape) {
    s.network().set_filter([&s, &tape](Instant, NodeId from, const Packet& p) {
        tape.push_back({from == s.client().node(), p.from, p.to, p.data});
        return true;
    });
}

std::vector<std::byte> random_bytes(Prng& prng, std::size_t size) {
    std::vector<std::byte> out(size);
    for (auto& b : out) b = static_cast<std::byte>(prng.below(256));
    return out;
}

/// As one of the cases: F19, F20
void replay_everything(int fault, const std::string& bound, std::uint64_t rekey_after) {
    auto setup = symmetric("replay", {});
    setup.client.rekey_after_packets = rekey_after;
    Scenario s(std::move(setup));
    std::vector<Recorded> tape;
    bool replaying = true;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        // The attacker must not carry packets that the link drops
        if (p.data.size() > s.up().params().mtu) return true;
        tape.push_back({from == s.client().node(), p.from, p.to, p.data});
        if (replaying) {
            s.network().inject(15ms, p.from, p.to, p.data);
            s.network().inject(300ms, p.from, p.to, p.data);
        }
        return true;
    });
    const Bulk bulk = start_bulk(s, {.bytes = 3'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done() && s.server().session().closed; }, 20s));
    if (rekey_after < 2000) SIM_CHECK(s, s.client().session().stats().key_updates > 0);
    s.run_for(5s);
    replaying = false;
    SIM_REQUIRE(s, s.server().sessions().size() == 1);
    SIM_CHECK(s,
              // The replay window found them before the streams did
              s.server().session().final_stats.duplicate_packets > 1000);
    const auto everything = tape;
    Duration at{};
    for (const Recorded& r : everything) s.network().inject(at += 10us, r.from, r.to, r.data);
    s.run_for(12s);
    SIM_CHECK(s, bulk.receiver->intact());
    SIM_CHECK(s, bulk.receiver->received() == 3'000'000);
    SIM_CHECK(s, s.server().sessions().size() == 1);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
    test::fault_case(fault, bound, everything.size(), " packets, ", s.client().session().final_stats.key_updates,
                     " key updates: ", bulk.receiver->received(), " of 3000000 bytes delivered, ",
                     s.server().sessions().size(), " session");
}

/// Handshake keys come from an id that every observer saw. Therefore a CLOSE under them is easy to forge.
std::vector<std::byte> forged_close(crypto::Provider& provider, ConnectionId original, bool as_client, ConnectionId to,
                                    ConnectionId from) {
    wire::LongHeader header;
    header.type = wire::LongType::handshake;
    header.destination = to;
    header.source = from;
    header.packet_number = 5000;
    std::vector<std::byte> out(200);
    const std::size_t header_bytes = wire::write_long_header(header, out);
    wire::Writer w(std::span<std::byte>(out).subspan(header_bytes));
    (void)wire::write_frame(w, wire::CloseFrame{.code = 9, .application = true, .reason = "forged"});
    out.resize(header_bytes + w.size() + wire::kTagBytes);
    auto keys = crypto::derive_initial(provider, original);
    crypto::PacketKey& key = as_client ? keys.client : keys.server;
    key.aead->seal(crypto::make_nonce(key.iv, PathId{0}, header.packet_number), out, header_bytes);
    return out;
}

}  // namespace

TEST_CASE("F19 every packet of a session replayed, during and after it: nothing is delivered twice") {
    replay_everything(19, "each packet replayed three times: nothing delivered twice, no new state", 1U << 22U);
}

TEST_CASE("F20 replay across key updates: dropped") {
    replay_everything(20, "each packet replayed across key updates: nothing delivered twice", 500);
}

TEST_CASE("F12 own messages reflected: no effect") {
    Scenario s(symmetric("reflection", {}));
    std::uint64_t reflected = 0;
    s.network().set_filter([&](Instant, NodeId, const Packet& p) {
        ++reflected;
        s.network().inject(1ms, p.to, p.from, p.data);
        return true;
    });
    const Bulk bulk = start_bulk(s, {.bytes = 2'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    SIM_CHECK(s, s.client().session().closed->orderly());
    SIM_CHECK(s, s.server().sessions().size() == 1);
    test::fault_case(12, "each packet reflected: one session, which ends normally", reflected, " packets, ",
                     s.server().sessions().size(), " session");
}

TEST_CASE("F22 datagrams of every length up to a tag and a header, random and on a live connection: silence") {
    Scenario s(symmetric("short datagrams", {}));
    Victim victim(s);
    std::vector<Recorded> tape;
    record(s, tape);
    const Bulk bulk = start_bulk(s, {.bytes = 5'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->received() > 100'000; }, 5s));
    const auto live = std::ranges::find_if(
        tape, [](const Recorded& r) { return r.by_client && wire::parse_short_header(r.data).has_value(); });
    SIM_REQUIRE(s, live != tape.end());
    const Recorded sample = *live;
    Prng prng(s.seed());
    for (std::size_t size = 0; size < wire::kShortHeaderBytes + wire::kTagBytes; ++size) {
        s.network().inject(1us, victim.address(), sample.to, random_bytes(prng, size));
        auto cut = sample.data;
        cut.resize(size);
        s.network().inject(1us, victim.address(), sample.to, cut);
        s.network().inject(1us, sample.from, sample.to, cut);
    }
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    SIM_CHECK(s, victim.datagrams == 0);
    SIM_CHECK(s, s.client().session().closed->orderly());
    test::fault_case(22, "datagrams of every length below header and tag: 0 answers",
                     3 * (wire::kShortHeaderBytes + wire::kTagBytes), " datagrams, ", victim.datagrams, " answers");
}

TEST_CASE("F24 forged close, retry, version negotiation and data: ignored by a live connection") {
    Scenario s(symmetric("forged close", {}));
    std::vector<Recorded> tape;
    record(s, tape);
    const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().connected_at.has_value(); }, 5s));
    const auto hello = wire::parse_long_header(tape.front().data);
    SIM_REQUIRE(s, hello.has_value());
    const auto reply = std::ranges::find_if(tape, [](const Recorded& r) {
        const auto h = wire::parse_long_header(r.data);
        return !r.by_client && h && h->type == wire::LongType::handshake;
    });
    SIM_REQUIRE(s, reply != tape.end());
    const ConnectionId client_id = hello->source;
    const ConnectionId server_id = wire::parse_long_header(reply->data)->source;
    // The keys derive from the destination id of the first HELLO.
    const ConnectionId original = hello->destination;
    auto& provider = shared_kit().provider();
    const Address client = s.client().address();
    const Address server = s.server().address();
    // The client still accepts handshake packets, as the server has not confirmed yet.
    s.network().inject(1us, server, client, forged_close(provider, original, false, client_id, server_id));
    SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->received() > 100'000; }, 5s));
    s.note("forged packets are injected on both sides");
    s.network().inject(1us, client, server, forged_close(provider, original, true, server_id, client_id));
    s.network().inject(1us, server, client, forged_close(provider, original, false, client_id, server_id));
    Prng prng(s.seed());
    for (int i = 0; i < 500; ++i) {
        auto data = random_bytes(prng, 31 + prng.below(100));
        wire::ShortHeader h;
        h.destination = i % 2 == 0 ? server_id : client_id;
        h.packet_number = static_cast<std::uint32_t>(prng.below(20000));
        wire::write_short_header(h, data);
        s.network().inject(Duration(i * 1000), i % 2 == 0 ? client : server, i % 2 == 0 ? server : client, data);
    }
    for (const auto type : {wire::LongType::retry, wire::LongType::version_negotiation}) {
        wire::LongHeader h;
        h.type = type;
        h.destination = client_id;
        h.source = original;
        if (type == wire::LongType::version_negotiation) h.version = 0;
        std::vector<std::byte> data(100);
        wire::write_long_header(h, data);
        s.network().inject(2us, server, client, data);
    }
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    SIM_CHECK(s, s.client().session().closed->orderly());
    SIM_CHECK(s, s.client().session().final_stats.undecryptable_packets >= 200);
    const auto dropped =
        s.client().session().final_stats.undecryptable_packets + s.server().session().stats().undecryptable_packets;
    SIM_CHECK(s, s.server().session().stats().undecryptable_packets >= 200);
    test::fault_case(24, "forged CLOSE, RETRY, version negotiation, data: the transfer ends normally", dropped,
                     " packets dropped");
}

TEST_CASE("F27 spoofed first packets: no more bytes back than came in, no state") {
    Scenario s(symmetric("spoofed hello", {}));
    Victim victim(s);
    std::vector<Recorded> tape;
    record(s, tape);
    const Bulk bulk = start_bulk(s, {.bytes = 10'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done() && s.server().session().closed; }, 5s));
    s.run_for(5s);
    std::uint64_t injected = 0;
    Prng prng(s.seed());
    for (const Recorded& r : tape) {
        const auto h = wire::parse_long_header(r.data);
        if (!r.by_client || !h || h->type != wire::LongType::hello) continue;
        for (int i = 0; i < 50; ++i) {
            auto data = r.data;
            // The same cookie from another address, another id, damaged bytes, or a truncated packet: the server sends
            // at most a RETRY.
            if (i % 3 == 1) data[5 + prng.below(8)] ^= std::byte{1};
            if (i % 3 == 2) data[prng.below(data.size())] ^= std::byte{0x10};
            if (i % 10 == 9) data.resize(prng.below(data.size()));
            injected += data.size();
            s.network().inject(Duration(prng.below(1'000'000)), victim.address(), r.to, std::move(data));
        }
    }
    SIM_REQUIRE(s, injected > 0);
    s.run_for(10ms);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
    s.run_for(10s);
    SIM_CHECK(s, victim.datagrams > 0);
    SIM_CHECK(s, victim.bytes <= injected);
    SIM_CHECK(s, s.server().sessions().size() == 1);
    test::fault_case(27, "spoofed HELLOs: answers have at most the bytes that arrived", victim.bytes, " for ",
                     injected);
}

TEST_CASE("a first packet of less than 548 bytes gets no answer") {
    Scenario s(symmetric("short hello", {}));
    Victim victim(s);
    std::vector<Recorded> tape;
    record(s, tape);
    const Bulk bulk = start_bulk(s, {.bytes = 10'000});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done() && s.server().session().closed; }, 5s));
    const auto is_hello = [](const Recorded& r) {
        const auto h = wire::parse_long_header(r.data);
        return r.by_client && h && h->type == wire::LongType::hello;
    };
    const auto hello = std::ranges::find_if(tape, is_hello);
    SIM_REQUIRE(s, hello != tape.end());
    auto data = hello->data;
    const Address to = hello->to;
    s.run_for(5s);  // the server has forgotten the connection
    s.network().inject(1ms, victim.address(), to, data);
    s.run_for(1s);
    SIM_REQUIRE(s, victim.datagrams == 1);  // a whole one gets its RETRY
    data.resize(wire::kLeastInitialDatagram - 1);
    s.network().inject(1ms, victim.address(), to, std::move(data));
    s.run_for(1s);
    SIM_CHECK(s, victim.datagrams == 1);
}

// The client's packets are large. The server's acknowledgements are small, so they give little credit.
TEST_CASE("F30 a spoofed new address gets at most three times what came from it, and the old path goes on") {
    for (const bool spoof_client : {true, false}) {
        Scenario s(symmetric(spoof_client ? "spoofed path of the client" : "spoofed path of the server", {}));
        Victim victim(s);
        std::uint64_t spoofed_bytes = 0;
        int to_spoof = 0;
        s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
            if ((from == s.client().node()) != spoof_client || to_spoof == 0) return true;
            --to_spoof;
            spoofed_bytes += p.data.size();
            s.network().inject(5ms, victim.address(), p.to, p.data);  // arrives before the host's other packets
            return false;
        });
        const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
        s.at(300ms, "two packets arrive from the victim's address", [&] { to_spoof = 2; });
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
        s.run_for(5s);
        SIM_CHECK(s, spoofed_bytes > 0);
        SIM_CHECK(s, victim.bytes > 0);
        SIM_CHECK(s, victim.bytes <= 3 * spoofed_bytes);
        SIM_CHECK(s, s.server().session().moves.empty());
        SIM_CHECK(s, s.client().session().moves.empty());
        const std::string whose = spoof_client ? "client" : "server";
        test::fault_case(30, "the " + whose + "'s new address spoofed: at most 3 times the bytes from it", victim.bytes,
                         " bytes for ", spoofed_bytes);
    }
}

// Connection setup and close under faults.
#include <algorithm>
#include <utility>

#include "crypto/packet_protection.hpp"
#include "sim/check.hpp"
#include "test/fault_case.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr std::uint64_t kBytes = 20'000;

/// Makes fifty connections with fifty seeds, each from scratch. All must connect within the default timeout and
/// transfer their bytes.
/// As one of the cases: F14, F15
void fifty_connect(int fault, const std::string& name, const LinkParams& line, std::optional<crypto::Secret> key = {}) {
    unsigned connected = 0;
    Duration slowest{};
    for (std::uint64_t i = 0; i < 50; ++i) {
        ScenarioSetup setup = symmetric(name, line, 1000 + i);
        setup.client_hello_key = setup.server_hello_key = key;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = kBytes, .close_when_delivered = false});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        ++connected;
        slowest = std::max<Duration>(slowest, *s.client().session().connected_at - kStart);
    }
    test::fault_case(fault, name + ": 50 of 50 connect within 10 s", connected, ", the slowest after ",
                     to_seconds(slowest), " s");
}

enum class Cut { both, from_client, from_server };

/// Drops everything from the k-th packet on. Returns the time at which the later end released its connection.
Duration stall(unsigned k, Cut cut) {
    ScenarioSetup setup = symmetric("stall from packet " + std::to_string(k), {});
    setup.client.idle_timeout = 9s;
    setup.server.idle_timeout = 9s;
    Scenario s(std::move(setup));
    unsigned seen = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet&) {
        if (seen++ < k) return true;
        const bool by_client = from == s.client().node();
        return cut == Cut::from_client ? !by_client : cut == Cut::from_server ? by_client : false;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes, .close_when_delivered = false});
    const bool one_sided = cut != Cut::both;
    (void)s.run_until(
        [&] {
            return s.client().session().closed && s.client().endpoint().connection_count() == 0 &&
                   s.server().endpoint().connection_count() == 0;
        },
        one_sided ? 22s : 12s);
    const Duration freed = s.elapsed();
    SIM_CHECK(s, s.client().endpoint().connection_count() == 0);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
    SIM_CHECK(s, s.client().session().closed.has_value());
    return freed;
}

}  // namespace

TEST_CASE("F14 30 % loss both ways: 50 of 50 connect") { fifty_connect(14, "handshake, 30 % loss", {.loss = 0.3}); }

TEST_CASE("F14 30 % loss both ways: 50 of 50 who share a key connect") {
    fifty_connect(14, "handshake with a proof, 30 % loss", {.loss = 0.3}, crypto::Secret{});
}

TEST_CASE("F15 30 % corruption both ways: 50 of 50 who share a key connect") {
    fifty_connect(15, "handshake with a proof, 30 % corruption", {.corrupt = 0.3}, crypto::Secret{});
}

TEST_CASE("who shares a key connects by the second HELLO if the first answer is lost") {
    ScenarioSetup setup = symmetric("first answer lost", {});
    setup.client_hello_key = setup.server_hello_key = crypto::Secret{};
    Scenario s(std::move(setup));
    // The first HELLO is late, so that the second one arrives before the server declares its answer lost.
    int hellos = 0;
    int answers = 0;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        if (from == s.server().node()) return answers++ > 0;
        if (hellos++ > 0) return true;
        s.network().inject(200ms, p.from, p.to, p.data);
        return false;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 1s));
}

TEST_CASE("F15 30 % corruption both ways: 50 of 50 connect") {
    fifty_connect(15, "handshake, 30 % corruption", {.corrupt = 0.3});
}

TEST_CASE("F15 a first flight damaged in each of its bytes, one by one: the client connects all the same") {
    for (std::size_t at = 0; at < 1200; at += at < 64 ? 1 : 97) {
        for (const unsigned hello : {0U, 1U}) {  // without and with the cookie
            Scenario s(symmetric("byte " + std::to_string(at) + " of HELLO " + std::to_string(hello), {}));
            unsigned seen = 0;
            s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
                if (from != s.client().node() || seen++ != hello) return true;
                auto copy = p.data;
                copy[at] ^= std::byte{0x11};
                s.network().inject(10ms, p.from, p.to, std::move(copy));
                return false;
            });
            const Bulk bulk = start_bulk(s, {.bytes = kBytes});
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 3s));
        }
    }
}

TEST_CASE("who shares a key with the server needs no cookie: a round trip less") {
    crypto::Secret key{};
    key.fill(std::byte{9});
    crypto::Secret other = key;
    other[0] = std::byte{8};
    const auto connected_after = [&](const char* name, std::optional<crypto::Secret> client,
                                     std::optional<crypto::Secret> server) {
        ScenarioSetup setup = symmetric(name, {.delay = 50ms});
        setup.client_hello_key = client;
        setup.server_hello_key = server;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = kBytes});
        SIM_REQUIRE(s, s.run_until([&] { return s.client().session().connected_at.has_value(); }, 3s));
        const Duration took = s.elapsed();
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 3s));
        return took;
    };
    CHECK(connected_after("no keys", {}, {}) >= 200ms);
    CHECK(connected_after("the same key", key, key) < 110ms);
    // A client with an unknown proof needs the full handshake with a cookie.
    const Duration strangers = connected_after("other keys", key, other);
    CHECK(strangers >= 200ms);
    CHECK(strangers < 210ms);
    CHECK(connected_after("only the client's", key, {}) < 210ms);
    CHECK(connected_after("only the server's", {}, key) < 210ms);
}

TEST_CASE("a HELLO with a proof that is replayed from elsewhere makes no connection") {
    crypto::Secret key{};
    ScenarioSetup setup = symmetric("replayed proof", {});
    setup.client_hello_key = setup.server_hello_key = key;
    Scenario s(std::move(setup));
    std::vector<std::byte> hello;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        if (from == s.client().node() && hello.empty()) hello = p.data;
        return true;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 3s));
    SIM_REQUIRE(s, s.run_until([&] { return s.server().endpoint().connection_count() == 0; }, 60s));
    const Address elsewhere = make_address(66, 6666);
    for (int i = 0; i < 5; ++i) s.network().inject(5ms, elsewhere, s.server().address(), hello);
    s.run_for(1s);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
}

TEST_CASE("F32 a cookie that expired on the way is replaced by the next one") {
    // The first RETRY passes. The answer to it is dropped until the cookie's 10 s are over.
    ScenarioSetup setup = symmetric("cookie expires", {});
    setup.up.blackouts = {{.from = 15ms, .length = 12s}};
    setup.client.handshake_timeout = 30s;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    test::fault_case(32, "a cookie that expired in flight is replaced: the transfer completes within 20 s",
                     to_seconds(s.elapsed()), " s, with 12 s of silence");
}

TEST_CASE("F32 a forged RETRY delays the handshake, it does not end it") {
    Scenario s(symmetric("forged retry", {}));
    bool forged = false;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        const auto hello = wire::parse_long_header(p.data);
        if (forged || from != s.client().node() || !hello) return true;
        forged = true;
        const std::vector<std::byte> junk(25, std::byte{0x2a});
        wire::LongHeader retry;
        retry.type = wire::LongType::retry;
        retry.destination = hello->source;
        retry.source = hello->destination;
        retry.token = junk;
        std::vector<std::byte> data(200);
        data.resize(wire::write_long_header(retry, data));
        const auto tag = crypto::retry_tag(shared_kit().provider(), hello->destination, data);
        data.insert(data.end(), tag.begin(), tag.end());
        s.network().inject(1ms, p.to, p.from, std::move(data));
        return true;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 5s));
    SIM_CHECK(s, forged);
    test::fault_case(32, "a forged RETRY: connected within 5 s", to_seconds(s.elapsed()), " s");
}

TEST_CASE("a RETRY whose tag is wrong is not taken") {
    Scenario s(symmetric("false retry", {}));
    const std::vector<std::byte> junk(25, std::byte{0x2a});
    bool sent = false;
    bool taken = false;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        const auto hello = wire::parse_long_header(p.data);
        if (from != s.client().node() || !hello) return true;
        taken = taken || std::ranges::equal(hello->token, junk);
        if (std::exchange(sent, true)) return true;
        wire::LongHeader retry;
        retry.type = wire::LongType::retry;
        retry.destination = hello->source;
        retry.source = hello->destination;
        retry.token = junk;
        std::vector<std::byte> data(200);
        data.resize(wire::write_long_header(retry, data));
        auto tag = crypto::retry_tag(shared_kit().provider(), hello->destination, data);
        tag[3] ^= std::byte{1};
        data.insert(data.end(), tag.begin(), tag.end());
        s.network().inject(1ms, p.to, p.from, std::move(data));
        return true;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 5s));
    SIM_CHECK(s, sent);
    SIM_CHECK(s, !taken);
}

TEST_CASE("handshake on a line of 2 s round trip") {
    Scenario s(symmetric("2 s round trip", {.delay = 1s}));
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 40s));
}

TEST_CASE("F16 a stall at every state of the handshake frees both ends within 10 s") {
    Duration latest{};
    Duration latest_one_sided{};
    for (unsigned k = 0; k < 10; ++k) {
        latest = std::max(latest, stall(k, Cut::both));
        for (const Cut cut : {Cut::from_client, Cut::from_server}) {
            latest_one_sided = std::max(latest_one_sided, stall(k, cut));
        }
    }
    CHECK(latest <= 10500ms);        // the client's timeout, plus the way of its last packet
    CHECK(latest_one_sided <= 22s);  // 10 s from the last sign of life, which one end may receive for longer
    test::fault_case(16, "one direction stalled after each of 10 packets: both ends freed within 22 s",
                     "the last after ", to_seconds(latest_one_sided), " s");
    test::fault_case(16, "both directions stalled after each of 10 packets: both ends freed within 10 s",
                     "the last after ", to_seconds(latest), " s");
}

TEST_CASE("nobody answers: the client says that nothing came back, after its time-out") {
    ScenarioSetup setup = symmetric("nobody there", {});
    Scenario s(std::move(setup));
    const auto sender = std::make_shared<Sender>(Sender::Options{.bytes = 1});
    s.client().connect(s.server().address(), sender);
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 12s));
    SIM_CHECK(s, s.client().session().closed->code == ErrorCode::udp_blocked);
    SIM_CHECK(s, s.elapsed() >= 10s);
    SIM_CHECK(s, s.server().counters().bytes_sent == 0);
}

TEST_CASE("F10 another key: refused quickly on the client, no stream on the server") {
    CryptoKit other(2);
    ScenarioSetup setup = symmetric("wrong key", {});
    setup.server_crypto = &other;
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 12s));
    SIM_CHECK(s, s.client().session().closed->code == ErrorCode::authentication);
    SIM_CHECK(s, s.elapsed() < 2s);
    SIM_CHECK(s, bulk.receiver->received() == 0);
    SIM_CHECK(s, s.server().sessions().empty());
    test::fault_case(10, "another key: refused within 2 s, 0 bytes reach the application", to_seconds(s.elapsed()),
                     " s, ", bulk.receiver->received(), " bytes");
    s.run_for(11s);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
}

TEST_CASE("F13 a rewritten version never leads to a connection under another one") {
    Scenario s(symmetric("version rewritten", {}));
    const Address to_server = s.server().address();
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        if (from != s.client().node()) return true;
        const auto header = wire::parse_long_header(p.data);
        if (!header || header->version != wire::kVersion) return true;
        auto copy = p.data;
        copy[4] ^= std::byte{0x7f};  // the last byte of the version
        s.network().inject(10ms, p.from, to_server, std::move(copy));
        return false;
    });
    const Bulk bulk = start_bulk(s, {.bytes = kBytes});
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 12s));
    SIM_CHECK(s, !s.client().session().connected_at);
    SIM_CHECK(s, bulk.receiver->received() == 0);
    test::fault_case(13, "versions rewritten: no connection, 0 bytes", "closed after ", to_seconds(s.elapsed()), " s, ",
                     bulk.receiver->received(), " bytes");
}

TEST_CASE("a server that is full takes no more than it said, and says so, also to who comes later") {
    Scenario s(symmetric("full server", {}));
    std::vector<std::shared_ptr<Receiver>> receivers;
    s.server().listen(2, [&](proto::Connection&) {
        receivers.push_back(std::make_shared<Receiver>());
        return receivers.back();
    });
    std::vector<std::shared_ptr<Sender>> senders;
    for (int i = 0; i < 5; ++i) {
        senders.push_back(std::make_shared<Sender>(Sender::Options{.bytes = kBytes, .close_when_delivered = false}));
        s.client().connect(s.server().address(), senders.back());
    }
    (void)s.run_until([] { return false; }, 5s);
    const auto late = std::make_shared<Sender>(Sender::Options{.bytes = kBytes, .close_when_delivered = false});
    s.client().connect(s.server().address(), late);
    (void)s.run_until([] { return false; }, 10s);
    SIM_CHECK(s, receivers.size() == 2);
    SIM_CHECK(s, s.server().endpoint().connection_count() == 2);
    const auto& reason = s.client().sessions().back()->closed;
    SIM_REQUIRE(s, reason.has_value());
    SIM_CHECK(s, reason->code == ErrorCode::no_resources);
    SIM_CHECK(s, reason->message.find("limit of connections") != std::string::npos);
}

TEST_CASE("an application's close reaches the peer with code and reason, also under 30 % loss") {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        Scenario s(symmetric("close under loss", {.loss = 0.3}, seed));
        const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000, .close_when_delivered = false});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.receiver->received() > 50'000; }, 60s));
        s.at(s.elapsed(), "the client closes with code 7",
             [&] { s.client().session().connection->close(s.events().now(), 7, "seven"); });
        SIM_REQUIRE(s, s.run_until([&] { return s.server().session().closed.has_value(); }, s.elapsed() + 40s));
        const auto& reason = *s.server().session().closed;
        // All copies of the CLOSE may be lost; then the idle timeout ends the connection.
        if (reason.code != ErrorCode::timeout) {
            SIM_CHECK(s, reason.by_peer);
            SIM_CHECK(s, reason.application);
            SIM_CHECK(s, reason.wire_code == 7);
            SIM_CHECK(s, reason.message == "seven");
            SIM_CHECK(s, !reason.orderly());
        }
        s.run_for(5s);
        SIM_CHECK(s, s.client().endpoint().connection_count() == 0);
        SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
    }
}

TEST_CASE("a packet filter's refusal ends connecting when it comes again a moment later, and not before") {
    for (const bool lasting : {false, true}) {
        Scenario s(symmetric(lasting ? "refused for good" : "refused twice at once", {}));
        // The packet filter drops the first flight, and the loss recovery finds that out.
        int sent = 0;
        s.network().set_filter([&](Instant now, NodeId from, const Packet& p) {
            if (from != s.client().node() || (!lasting && ++sent > 1)) return true;
            s.events().call_at(now, [&s, local = p.from, remote = p.to] {
                const auto& connection = s.client().session().connection;
                for (int twice = 0; connection && twice < 2; ++twice) {
                    const proto::Transmit refused{
                        .local = local, .remote = remote, .connection = connection->local_id()};
                    s.client().endpoint().on_no_route(s.events().now(), refused, "no way: refused", true);
                }
                s.client().pump();
            });
            return false;
        });
        const Bulk bulk = start_bulk(s, {.bytes = kBytes, .close_when_delivered = false});
        if (!lasting) {
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 5s));
            continue;
        }
        SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 2s));
        SIM_CHECK(s, s.client().session().closed->code == ErrorCode::no_route);
    }
}

// A dead peer is noticed quickly. A false report of its death ends nothing.
#include <algorithm>

#include "multipath_rig.hpp"
#include "proto/close_reason.hpp"
#include "test/fault_case.hpp"
#include "victim.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kLine{.bits_per_second = 20'000'000, .delay = 20ms, .queue_bytes = 100'000};
constexpr crypto::Secret kKey{std::byte{7}};

TransportConfig as_the_tools() {
    TransportConfig config;
    config.idle_timeout = 60s;
    config.keep_alive = 1s;
    return config;
}

ScenarioSetup with_key(std::string name, std::uint64_t seed = 1) {
    ScenarioSetup setup = symmetric(std::move(name), kLine, seed);
    setup.client = setup.server = as_the_tools();
    setup.server_reset_key = kKey;
    return setup;
}

/// The client connects and receives an endless stream.
void start_pull(Scenario& s, const std::shared_ptr<Receiver>& receiver) {
    s.server().listen(
        16, [](proto::Connection&) { return std::make_shared<Sender>(Sender::Options{.bytes = 1'000'000'000}); });
    s.client().connect(s.server().address(), receiver);
}

void listen_anew(Scenario& s) {
    s.server().start_anew();
    s.server().listen(16, [](proto::Connection&) { return std::make_shared<Receiver>(); });
}

/// Learns the connection id that the server has chosen, from the client's packets to it.
class Onlooker {
  public:
    explicit Onlooker(Scenario& s) {
        s.network().set_filter([this, &s](Instant, NodeId from, const Packet& p) {
            const auto header = wire::parse_short_header(p.data);
            if (from == s.client().node() && header) packet_ = {p.data.begin(), p.data.end()};
            return true;
        });
    }
    [[nodiscard]] bool knows() const { return !packet_.empty(); }
    [[nodiscard]] const std::vector<std::byte>& packet() const { return packet_; }
    [[nodiscard]] ConnectionId id() const { return wire::parse_short_header(packet_)->destination; }
    /// The reset that a server with `key` would send.
    [[nodiscard]] std::vector<std::byte> reset(const crypto::Secret& key) const {
        std::vector<std::byte> out(packet_.begin(), packet_.begin() + wire::kShortHeaderBytes);
        const auto token = crypto::make_reset_token(shared_kit().provider(), key, id());
        out.insert(out.end(), token.begin(), token.end());
        return out;
    }

  private:
    std::vector<std::byte> packet_;
};

/// Sends the ICMP message of the kernel on a host whose process is gone.
void answer_with_icmp(Scenario& s, SimHost& dead, SimHost& other) {
    s.network().set_filter([&](Instant now, NodeId from, const Packet& p) {
        if (!dead.killed() || from != other.node()) return true;
        s.events().call_at(now + 40ms, [&other, to = p.to, &s] {
            const auto& connection = other.session().connection;
            if (connection) connection->on_refused(s.events().now(), to);
            other.pump();
        });
        return true;
    });
}

std::vector<std::byte> stray(ConnectionId id, std::size_t size) {
    std::vector<std::byte> data(size, std::byte{0x55});
    wire::ShortHeader header;
    header.destination = id;
    wire::write_short_header(header, data);
    return data;
}

}  // namespace

TEST_CASE("a server that was started anew ends its old clients' connections within half a second, either way") {
    for (const bool push : {true, false}) {
        for (const Duration away : {100ms, 1000ms, 10'000ms}) {
            Scenario s(with_key(push ? "restart under a push" : "restart under a pull"));
            Bulk bulk;
            if (push) {
                bulk = start_bulk(s, {.bytes = 1'000'000'000});
            } else {
                start_pull(s, std::make_shared<Receiver>());
            }
            s.at(1s, "the server is killed", [&] { s.server().kill(); });
            s.at(1s + away, "and started anew", [&] { listen_anew(s); });
            SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 60s));
            // A client that only receives sends a probe after a second of silence.
            const Duration noticed = std::max<Duration>(away, push ? 0s : 1s) + 1s;
            SIM_CHECK(s, s.elapsed() <= noticed + 550ms);
            SIM_CHECK(s, s.client().session().closed->code == ErrorCode::timeout);
            SIM_CHECK(s, s.client().session().closed->message.find("was restarted") != std::string::npos);
            SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
        }
    }
}

TEST_CASE("a server without the key says nothing, and silence ends the connection") {
    auto setup = with_key("no key");
    setup.server_reset_key.reset();
    Scenario s(std::move(setup));
    const Bulk bulk = start_bulk(s, {.bytes = 1'000'000'000});
    s.at(1s, "the server is killed", [&] { s.server().kill(); });
    s.at(2s, "and started anew", [&] { listen_anew(s); });
    SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 100s));
    SIM_CHECK(s, s.elapsed() >= 60s);
}

TEST_CASE("a peer whose port is closed is missed within a second, at either end and either way") {
    for (const bool push : {true, false}) {
        for (const bool server_dies : {true, false}) {
            Scenario s(with_key("port unreachable"));
            Bulk bulk;
            if (push) {
                bulk = start_bulk(s, {.bytes = 1'000'000'000});
            } else {
                start_pull(s, std::make_shared<Receiver>());
            }
            SimHost& dead = server_dies ? s.server() : s.client();
            SimHost& other = server_dies ? s.client() : s.server();
            answer_with_icmp(s, dead, other);
            s.at(1s, "it is killed", [&] { dead.kill(); });
            SIM_REQUIRE(s, s.run_until([&] { return !other.sessions().empty() && other.session().closed; }, 100s));
            SIM_CHECK(s, s.elapsed() <= 2s);
            SIM_CHECK(s, other.session().closed->message.find("nothing listens") != std::string::npos);
        }
    }
}

/// Injects resets with wrong contents, from the server's address and from another one, one each millisecond.
void inject_wrong_resets(Scenario& s, const Onlooker& onlooker, int count) {
    Prng prng(s.seed());
    for (int i = 0; i < count; ++i) {
        auto forged = onlooker.reset(kKey);
        const int kind = i % 5;
        if (kind == 0) forged[wire::kShortHeaderBytes + prng.below(16)] ^= std::byte{1};
        if (kind == 1) forged[1 + prng.below(4)] ^= std::byte{1};
        if (kind == 2) forged.push_back(std::byte{0});
        if (kind == 3) forged.pop_back();
        const Address from = kind == 4 ? make_address(66, 1) : s.server().address();
        s.network().inject(i * 1ms, from, s.client().address(), forged);
    }
}

TEST_CASE("F24 resets with a wrong token, of another connection or length, or from elsewhere do nothing") {
    Scenario s(with_key("forged resets"));
    Onlooker onlooker(s);
    const Bulk bulk = start_bulk(s, {.bytes = 5'000'000});
    SIM_REQUIRE(s, s.run_until([&] { return onlooker.knows(); }, 5s));
    inject_wrong_resets(s, onlooker, 2000);
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
    SIM_CHECK(s, s.client().session().closed->orderly());
    test::fault_case(24, "2,000 wrong resets: the transfer completes within 20 s", to_seconds(s.elapsed()), " s");
}

// In this silence only the check of the token protects the connection: a reset with the right token ends it.
TEST_CASE("F24 wrong resets end nothing either while the line is cut") {
    for (const bool right : {false, true}) {
        Scenario s(with_key(right ? "a reset in silence" : "forged resets in silence"));
        Onlooker onlooker(s);
        const Bulk bulk = start_bulk(s, {.bytes = 5'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return onlooker.knows() && s.elapsed() > 500ms; }, 5s));
        const auto set_loss = [&s](double loss) {
            for (Link* link : {&s.up(), &s.down()}) link->change([loss](LinkParams& p) { p.loss = loss; });
        };
        set_loss(1.0);
        inject_wrong_resets(s, onlooker, 5000);
        if (right) s.network().inject(5s, s.server().address(), s.client().address(), onlooker.reset(kKey));
        s.run_for(10s);
        SIM_CHECK(s, s.client().session().closed.has_value() == right);
        set_loss(0.0);
        if (right) continue;
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, s.client().session().closed->orderly());
        test::fault_case(24, "5,000 wrong resets while the link is down for 10 s: the transfer continues",
                         "done after ", to_seconds(s.elapsed()), " s");
    }
}

// Such a reset comes from another server with the same key, which any observer of the id can ask for it, or it is a
// replay.
TEST_CASE("the right token ends nothing as long as the peer answers, however often it is shown") {
    for (const double loss : {0.0, 0.05}) {
        auto setup = with_key("stolen resets");
        setup.up.loss = setup.down.loss = loss;
        Scenario s(std::move(setup));
        Onlooker onlooker(s);
        const Bulk bulk = start_bulk(s, {.bytes = 5'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return onlooker.knows(); }, 5s));
        for (int i = 0; i < 4000; ++i) {
            s.network().inject(i * 1ms, s.server().address(), s.client().address(), onlooker.reset(kKey));
        }
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 20s));
        SIM_CHECK(s, s.client().session().closed->orderly());
        SIM_CHECK(s, s.server().sessions().size() == 1);
    }
}

TEST_CASE("forged words of a closed port and of an end end nothing, neither under load nor in a pause") {
    for (const bool idle : {false, true}) {
        for (const double loss : {0.0, 0.05}) {
            auto setup = with_key(idle ? "forged words in a pause" : "forged words under load");
            setup.up.loss = setup.down.loss = loss;
            Scenario s(std::move(setup));
            Bulk bulk;
            const auto ping = std::make_shared<Ping>(5, 2s);
            if (idle) {
                s.server().listen(16, [](proto::Connection&) { return std::make_shared<Echo>(); });
                s.client().connect(s.server().address(), ping);
            } else {
                bulk = start_bulk(s, {.bytes = 5'000'000, .close_when_delivered = false});
            }
            for (int i = 0; i < 10'000; ++i) {
                s.events().call_at(s.events().now() + i * 1ms, [&s, i] {
                    const Instant now = s.events().now();
                    for (SimHost* host : {&s.client(), &s.server()}) {
                        if (host->sessions().empty() || !host->session().connection) continue;
                        auto& connection = *host->session().connection;
                        connection.on_refused(now, connection.remote());
                        if (i % 2 == 0) connection.suspect(now, proto::Evidence::exited);
                        host->pump();
                    }
                });
            }
            s.run_for(12s);
            SIM_CHECK(s, idle ? ping->answered() == 5 : bulk.receiver->complete(5'000'000));
            SIM_CHECK(s, !s.client().session().closed);
            SIM_CHECK(s, !s.server().session().closed);
            // Each suspicion sends a probe. These probes must not become a flood.
            if (idle) SIM_CHECK(s, s.client().counters().datagrams_sent < 3000);
        }
    }
}

TEST_CASE("of several paths a closed port ends the one; of all, the connection") {
    for (const bool all : {false, true}) {
        MultipathRig rig(
            {.name = "ports of paths", .lines = {kLine, kLine}, .client = as_the_tools(), .server = as_the_tools()});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = 20'000'000});
        const auto die = [&](std::size_t line) {
            rig.cut(line);
            for (int i = 0; i < 3; ++i) {
                s.events().call_at(s.events().now() + i * 10ms, [&s, to = rig.path(line).remote] {
                    auto& connection = s.client().session().connection;
                    if (connection) connection->on_refused(s.events().now(), to);
                    s.client().pump();
                });
            }
        };
        s.at(2s, "the second line ends at a closed port", [&] { die(1); });
        if (all) s.at(2100ms, "and the first", [&] { die(0); });
        if (all) {
            SIM_REQUIRE(s, s.run_until([&] { return s.client().session().closed.has_value(); }, 60s));
            SIM_CHECK(s, s.elapsed() <= 3500ms);
        } else {
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
            SIM_CHECK(s, s.client().session().closed->orderly());
        }
    }
}

TEST_CASE("F27 packets of unknown connections: the answer is smaller, and is not answered") {
    Scenario s(with_key("strays"));
    Victim bystander(s);
    s.server().listen(16, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    // Two servers that are made to answer each other.
    auto& kit = shared_kit();
    SimHost second(s.events(), s.network(),
                   HostSetup{.name = "second server",
                             .address = make_address(3, 7000),
                             .seed = 3,
                             .provider = &kit.provider(),
                             .handshakes = &kit.handshakes(),
                             .reset_key = kKey});
    second.listen(16, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    s.network().connect(s.server().node(), second.node(), {&s.network().add_link("to the second", {})});
    s.network().connect(second.node(), s.server().node(), {&s.network().add_link("from the second", {})});
    for (std::size_t size = 0; size <= 1500; size += size < 60 ? 1 : 240) {
        const auto sent = second.counters().datagrams_sent;
        s.network().inject(1us, second.address(), s.server().address(),
                           stray(ConnectionId{size + 1}, std::max(size, wire::kShortHeaderBytes)));
        s.run_for(1s);
        SIM_CHECK(s, second.counters().datagrams_sent == sent);
        const auto answered = bystander.datagrams;
        const auto bytes = bystander.bytes;
        auto data = stray(ConnectionId{size + 5000}, std::max(size, wire::kShortHeaderBytes));
        data.resize(size);
        s.network().inject(1us, bystander.address(), s.server().address(), data);
        s.run_for(1s);
        SIM_CHECK(s, bystander.datagrams - answered == (size > proto::kResetBytes ? 1 : 0));
        SIM_CHECK(s, bystander.bytes - bytes < std::max<std::size_t>(size, 1));
    }
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
    test::fault_case(27, "packets of unknown connections: each answer is smaller, and gets no answer",
                     bystander.datagrams, " answers of ",
                     bystander.bytes / std::max<std::uint64_t>(bystander.datagrams, 1), " bytes");
}

TEST_CASE("F35 a flood of packets of unknown connections is answered by a bounded trickle") {
    Scenario s(with_key("flood of strays"));
    Victim bystander(s);
    s.server().listen(16, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        s.network().inject(Duration(i * 50'000), bystander.address(), s.server().address(),
                           stray(ConnectionId{i * 2654435761U % 4294967296U}, 100));
    }
    s.run_for(2s);
    SIM_CHECK(s, bystander.datagrams > 500);
    SIM_CHECK(s, bystander.datagrams <= 1101);
    const auto before = bystander.datagrams;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
        s.network().inject(Duration(i * 50'000), bystander.address(), s.server().address(),
                           stray(ConnectionId{77}, 100));
    }
    s.run_for(2s);
    SIM_CHECK(s, bystander.datagrams - before <= 21);
    test::fault_case(35, "20,000 packets of one unknown connection: at most 21 answers", bystander.datagrams - before);
}

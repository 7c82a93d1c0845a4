// Floods: from spoofed addresses without a cookie, and from real ones with it.
#include <utility>
#include <vector>

#include "sim/check.hpp"
#include "test/fault_case.hpp"
#include "wire/header.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr std::uint64_t kBytes = 20'000;

/// Hosts that answer RETRY with the cookie and then abandon the handshake, repeatedly.
class Flood {
  public:
    /// `network`: not 0: all hosts have addresses in one IPv6 /64 of this number; 0: each has an address of its own.
    Flood(Scenario& s, std::uint8_t hosts, int handshakes_each, std::uint8_t network = 0) {
        Prng seeds = Prng::derive(s.seed(), 77);
        for (std::uint8_t i = 0; i < hosts; ++i) {
            HostSetup setup;
            setup.name = "flood " + std::to_string(i);
            setup.address = make_address(static_cast<std::uint8_t>(100 + i), 5000);
            if (network > 0) {
                setup.address.family = Address::Family::v6;
                setup.address.ip = {0xfd, network};
                setup.address.ip[15] = i;
            }
            setup.seed = seeds.next();
            setup.provider = &shared_kit().provider();
            setup.handshakes = &shared_kit().handshakes();
            hosts_.push_back(std::make_unique<SimHost>(s.events(), s.network(), std::move(setup)));
            const NodeId node = hosts_.back()->node();
            const LinkParams line{.bits_per_second = 1'000'000'000, .delay = 10ms, .queue_bytes = 10'000'000};
            s.network().connect(node, s.server().node(), {&s.network().add_link("flood in", line)});
            s.network().connect(s.server().node(), node, {&s.network().add_link("flood out", line)});
        }
        // Passes a HELLO, and drops the packets that would finish the handshake.
        s.network().set_filter([&s](Instant, NodeId from, const Packet& p) {
            if (from == s.client().node() || from == s.server().node()) return true;
            const auto header = wire::parse_long_header(p.data);
            return header && header->type == wire::LongType::hello;
        });
        for (const auto& host : hosts_) {
            for (int i = 0; i < handshakes_each; ++i) {
                host->connect(s.server().address(), std::make_shared<Sender>(Sender::Options{.bytes = 1}));
            }
        }
    }

  private:
    std::vector<std::unique_ptr<SimHost>> hosts_;
};

}  // namespace

TEST_CASE("F36 a thousand handshakes with valid cookies from one address: capped, and a client connects within 2 s") {
    Scenario s(symmetric("flood from one address", {}));
    const auto receiver = std::make_shared<Receiver>();
    s.server().listen(2, [&](proto::Connection&) { return receiver; });
    const Flood flood(s, 1, 1000);
    s.run_for(500ms);
    SIM_CHECK(s, s.server().endpoint().half_open_count() > 0);
    SIM_CHECK(s, s.server().endpoint().half_open_count() <= proto::Endpoint::kMaxHalfOpenPerHost);
    const auto sender = std::make_shared<Sender>(Sender::Options{.bytes = kBytes});
    s.client().connect(s.server().address(), sender);
    SIM_CHECK(s, s.run_until([&] { return receiver->complete(kBytes); }, 2500ms));
    SIM_CHECK(s, s.server().endpoint().half_open_count() <= proto::Endpoint::kMaxHalfOpenPerHost);
    test::fault_case(
        36, "1,000 handshakes with cookies from one address: at most 64 half open, a client's bytes arrive within 2 s",
        s.server().endpoint().half_open_count(), " half open, ", to_seconds(s.elapsed() - 500ms), " s");
    s.run_for(25s);  // the handshake timeouts of both ends
    SIM_CHECK(s, s.server().endpoint().connection_count() == 0);
}

TEST_CASE("F36 from the addresses of one IPv6 network no more than from one host") {
    Scenario s(symmetric("flood from one network", {}));
    s.server().listen(2, [](proto::Connection&) { return std::make_shared<Receiver>(); });
    const Flood flood(s, 40, 40, 1);
    const Flood another(s, 10, 40, 2);
    s.run_for(500ms);
    SIM_CHECK(s, s.server().endpoint().half_open_count() == 2 * proto::Endpoint::kMaxHalfOpenPerHost);
    test::fault_case(36, "2,000 handshakes from two IPv6 networks of 64 bits: 128 half open",
                     s.server().endpoint().half_open_count());
}

TEST_CASE("F36 more handshakes than there are slots, from forty addresses: a client connects within 3 s") {
    Scenario s(symmetric("flood from many addresses", {}));
    const auto receiver = std::make_shared<Receiver>();
    s.server().listen(2, [&](proto::Connection&) { return receiver; });
    const Flood flood(s, 40, 40);
    s.run_for(500ms);
    SIM_CHECK(s, s.server().endpoint().half_open_count() == proto::Endpoint::kMaxHalfOpen);
    const auto sender = std::make_shared<Sender>(Sender::Options{.bytes = kBytes});
    s.client().connect(s.server().address(), sender);
    SIM_CHECK(s, s.run_until([&] { return receiver->complete(kBytes); }, 3500ms));
    test::fault_case(36, "1,600 handshakes from forty addresses: a client's bytes arrive within 3 s",
                     to_seconds(s.elapsed() - 500ms), " s");
    SIM_CHECK(s, s.server().endpoint().half_open_count() <= proto::Endpoint::kMaxHalfOpen);
}

// A tenth of the matrix's 50,000 packets a second for 60 s, in time and in rate. The server's work per packet and its
// memory do not depend on the number of earlier packets.
TEST_CASE("F35 a flood of spoofed HELLOs: no state, bounded answers, and a client connects within 2 s") {
    Scenario s(symmetric("spoofed flood", {}));
    const Bulk bulk = start_bulk(s, {.bytes = kBytes, .close_when_delivered = false});
    std::vector<std::byte> hello;
    s.network().set_filter([&](Instant, NodeId from, const Packet& p) {
        if (hello.empty() && from == s.client().node()) hello = p.data;
        return true;
    });
    const auto packets = static_cast<std::uint64_t>(30'000 * std::max(size_scale(), 0.2));
    Prng prng(s.seed());
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 5s));
    for (std::uint64_t i = 0; i < packets; ++i) {
        auto data = hello;
        data[5 + prng.below(8)] ^= static_cast<std::byte>(1 + prng.below(255));
        const auto port = static_cast<std::uint16_t>(1024 + prng.below(60'000));
        s.network().inject(Duration(200us) * static_cast<Duration::rep>(i),
                           make_address(static_cast<std::uint8_t>(100 + prng.below(100)), port), s.server().address(),
                           std::move(data));
    }
    const std::size_t before = s.server().endpoint().connection_count();
    s.run_for(Duration(100us) * static_cast<Duration::rep>(packets));
    SIM_CHECK(s, s.server().endpoint().connection_count() == before);
    const auto second = std::make_shared<Sender>(Sender::Options{.bytes = kBytes});
    const Duration connecting = s.elapsed();
    const Session& session = s.client().connect(s.server().address(), second);
    SIM_CHECK(s, s.run_until([&] { return session.connected_at.has_value(); }, connecting + 2s));
    SIM_CHECK(s, s.server().endpoint().half_open_count() <= 1);
    test::fault_case(35, "spoofed HELLOs in virtual time, 5,000 a second: no state, a client connects within 2 s",
                     packets, " packets, ", to_seconds(s.elapsed() - connecting), " s");
}

// Keys and nonces over the lifetime of a connection.
#include <map>
#include <vector>

#include "sim/check.hpp"
#include "sim/insider.hpp"
#include "test/fault_case.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

/// Counts the sealed packets, and those sealed with a number that was already used under the same key.
class NonceWatch {
  public:
    explicit NonceWatch(TappedProvider& provider) {
        provider.set_tap([this](const TappedProvider::Sealing& s) {
            ++sealed;
            auto [last, first_of_key] = newest_.try_emplace({s.key, s.header.path.value}, s.number);
            if (first_of_key) return;
            if (s.number <= last->second) ++repeated;
            last->second = s.number;
        });
    }
    std::uint64_t sealed = 0;
    std::uint64_t repeated = 0;
    [[nodiscard]] std::size_t keys() const { return newest_.size(); }

  private:
    std::map<std::pair<std::size_t, std::uint8_t>, PacketNumber> newest_;
};

}  // namespace

// 10^6 packets take a second and cover every branch. The whole matrix runs its 10^7 packets.
TEST_CASE("F25 a key never sees a packet number twice, over key updates, loss and changes of address") {
    TappedProvider client(shared_kit().provider());
    TappedProvider server(shared_kit().provider());
    const NonceWatch up(client);
    const NonceWatch down(server);
    auto setup = symmetric("nonces", {.bits_per_second = 1'000'000'000, .delay = 5ms, .loss = 0.001});
    setup.client_provider = &client;
    setup.server_provider = &server;
    setup.client.rekey_after_packets = 20'000;
    setup.server.rekey_after_packets = 5'000;
    Scenario s(std::move(setup));
    const auto bytes = static_cast<std::uint64_t>((whole_matrix() ? 1.4e10 : 1.4e9) * size_scale());
    const Bulk bulk = start_bulk(s, {.bytes = bytes});
    for (int i = 1; i < 20; ++i) {
        const Address outer = make_address(1, static_cast<std::uint16_t>(41000 + i));
        s.at(i * 500ms, "rebinds", [&s, outer] { s.network().rebind(s.client().node(), outer); });
    }
    SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 600s));
    SIM_CHECK(s, up.sealed >= bytes / 1472);
    SIM_CHECK(s, up.keys() >= up.sealed / 40'000);
    SIM_CHECK(s, up.repeated == 0);
    SIM_CHECK(s, down.sealed > 0);
    SIM_CHECK(s, down.repeated == 0);
    test::fault_case(25, "each key, path and number is used once (10^6 packets; 10^7 in the whole matrix)",
                     up.sealed + down.sealed, " packets, ", up.repeated + down.repeated, " repeated");
}

TEST_CASE("F26 with the limit of a key at 2^10 packets the transfer rekeys its way through, also under loss") {
    for (const double loss : {0.0, 0.05}) {
        auto setup = symmetric("rekeying", {.loss = loss});
        setup.client.rekey_after_packets = 1U << 10U;
        setup.server.rekey_after_packets = 1U << 10U;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = 20'000'000});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 120s));
        const auto stats = s.client().session().stats();
        SIM_CHECK(s, stats.key_updates >= 8);
        SIM_CHECK(s, stats.key_updates <= stats.paths.at(0).sent_packets / (1U << 10U) + 1);
        SIM_CHECK(s, stats.undecryptable_packets == 0);
        test::fault_case(
            26, "a key's limit at 2^10 packets, " + std::string(loss > 0 ? "5" : "0") + " % loss: at least 8 updates",
            stats.key_updates, " updates in ", stats.paths.at(0).sent_packets, " packets");
    }
}

// Packet threads are threads beside the protocol thread (--threads). They seal and open packets and decide nothing. A
// transfer with packet threads sends the same packets at the same times as one without, so its share beside other flows
// is also the same.
TEST_CASE("A transfer whose packets are sealed and opened by packet threads behaves like one without packet threads") {
    struct Course {
        Duration end{};
        HostCounters up;
        HostCounters down;
        ConnectionStats stats;
    };
    const auto run = [](std::size_t packet_threads) {
        auto setup = symmetric("packet threads",
                               {.bits_per_second = 50'000'000, .delay = 10ms, .loss = 0.01, .duplicate = 0.01});
        setup.client.rekey_after_packets = 1U << 10U;
        setup.packet_threads = packet_threads;
        Scenario s(std::move(setup));
        const Bulk bulk = start_bulk(s, {.bytes = 10'000'000});
        s.at(1s, "rebinds", [&s] { s.network().rebind(s.client().node(), make_address(1, 41000)); });
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        return Course{s.elapsed(), s.client().counters(), s.server().counters(), s.client().session().stats()};
    };
    const Course alone = run(0);
    const Course with = run(3);
    CHECK(with.end == alone.end);
    CHECK(with.up == alone.up);
    CHECK(with.down == alone.down);
    CHECK(with.stats.key_updates == alone.stats.key_updates);
    CHECK(with.stats.key_updates >= 4);
    CHECK(with.stats.undecryptable_packets == 0);
    CHECK(with.stats.duplicate_packets == alone.stats.duplicate_packets);
}

// The header has the low 24 bits of a packet number, the nonce has all of them.
TEST_CASE("F82 packet numbers that begin just below 2^24, 2^32 and 2^48: both kinds of streams, key updates, losses") {
    for (const unsigned bits : {24U, 32U, 48U}) {
        for (const StreamKind kind : {StreamKind::unordered, StreamKind::ordered}) {
            LinkParams line{.bits_per_second = 50'000'000, .queue_bytes = 100'000, .loss = 0.01};
            auto setup = symmetric("F82 numbers from 2^" + std::to_string(bits), line, bits);
            setup.client_experiment.first_number = setup.server_experiment.first_number =
                (PacketNumber{1} << bits) - 1000;
            setup.client.rekey_after_packets = setup.server.rekey_after_packets = 300;
            Scenario s(std::move(setup));
            const Bulk bulk = start_bulk(s, {.bytes = 4'000'000, .kind = kind});
            SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
            SIM_CHECK(s, s.client().session().stats().paths.at(0).sent_packets > 2000);
            SIM_CHECK(s, s.client().session().stats().key_updates > 3);
            SIM_CHECK(s, s.server().session().stats().undecryptable_packets == 0);
            SIM_CHECK(s, s.client().session().stats().undecryptable_packets == 0);
        }
    }
    test::fault_case(82, "numbers pass 2^24, 2^32 and 2^48 during a transfer, across key updates",
                     "all packets opened");
}

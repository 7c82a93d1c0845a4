// The relay without sockets: claims, joins, pairs, and what strangers cannot do. Times are virtual.
#include <algorithm>
#include <map>
#include <string>

#include "rendezvous/relay_core.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;
using test::from_text;

namespace {

Address address_of(std::uint8_t last, std::uint16_t port = 5000) {
    return {Address::Family::v4, port, {192, 0, 2, last}};
}

/// Records what the relay sends.
class RecordedOutput final : public RelayOutput {
  public:
    void send(RelayConnectionId to, const Message& message) override { sent[to].push_back(message); }
    void pass(RelayConnectionId from, RelayConnectionId to, const Data& data, Duration pause) override {
        sent[to].push_back(data);
        pauses[from] = pause;
    }
    void disconnect(RelayConnectionId id) override { closed.push_back(id); }
    void send_datagram(const Address& to, std::span<const std::byte> datagram) override {
        datagrams.emplace_back(to, std::vector(datagram.begin(), datagram.end()));
    }
    void report(const std::string& line) override { lines.push_back(line); }

    std::map<RelayConnectionId, std::vector<Message>> sent;
    std::vector<RelayConnectionId> closed;
    std::vector<std::pair<Address, std::vector<std::byte>>> datagrams;
    std::vector<std::string> lines;
    std::map<RelayConnectionId, Duration> pauses;
};

struct Rig {
    explicit Rig(const RelayBudget& given = {}) : budget(given) {}

    template <class Type>
    Type last(RelayConnectionId id) {
        REQUIRE_FALSE(out.sent[id].empty());
        REQUIRE(std::holds_alternative<Type>(out.sent[id].back()));
        return std::get<Type>(out.sent[id].back());
    }
    CloseReasonCode closed_with(RelayConnectionId id) {
        CHECK(std::ranges::count(out.closed, id) == 1);
        return last<Close>(id).code;
    }
    Claimed claim(RelayConnectionId id, const Address& from = address_of(1)) {
        REQUIRE(core.on_connect(now, id, from));
        core.on_message(now, id, Claim{});
        return last<Claimed>(id);
    }
    void join(RelayConnectionId id, std::uint32_t number, const Address& from = address_of(2)) {
        REQUIRE(core.on_connect(now, id, from));
        core.on_message(now, id, Join{kRendezvousVersion, number});
    }
    /// Connection 1 claims, connection 2 joins.
    std::uint32_t pair() {
        const std::uint32_t number = claim(1).number;
        join(2, number);
        core.on_message(now, 1, Settled{1});
        return number;
    }
    RelayBudget budget;
    SystemRng random;
    RecordedOutput out;
    Instant now{1h};
    RelayCore core{budget, random, out};
};

}  // namespace

TEST_CASE("an end claims a number, another joins, and their messages reach each other") {
    Rig rig;
    const Claimed claimed = rig.claim(1);
    CHECK(claimed.number >= 1);
    CHECK(claimed.number <= 999);
    CHECK(claimed.seconds == 3600);
    rig.join(2, claimed.number);
    const Joined joined = rig.last<Joined>(2);
    CHECK(joined.token != claimed.token);
    CHECK(joined.join == 1);
    CHECK(rig.last<Joined>(1).token == claimed.token);
    rig.core.on_message(rig.now, 1, Peer{1, from_text("to the joiner")});
    CHECK(rig.last<Peer>(2).body == from_text("to the joiner"));
    rig.core.on_message(rig.now, 2, Peer{1, from_text("to the claimer")});
    CHECK(rig.last<Peer>(1).body == from_text("to the claimer"));
    rig.core.on_message(rig.now, 1, Settled{1});
    CHECK(rig.core.counters().pairs == 1);
    // Either end ends a pair.
    rig.core.on_message(rig.now, 2, Close{});
    CHECK(rig.closed_with(1) == CloseReasonCode::other_end);
    CHECK(rig.core.sessions() == 0);
}

TEST_CASE("a number that nobody has, or that has its pair, cannot be joined") {
    Rig rig;
    const std::uint32_t number = rig.pair();
    rig.join(3, number == 5 ? 6 : 5);
    CHECK(rig.closed_with(3) == CloseReasonCode::unknown_number);
    rig.join(4, number);
    CHECK(rig.closed_with(4) == CloseReasonCode::unknown_number);
    CHECK(rig.out.closed.size() == 2);
}

TEST_CASE("three ends may try a number, then the claim ends") {
    Rig rig;
    const std::uint32_t number = rig.claim(1).number;
    rig.join(2, number);
    rig.core.on_message(rig.now, 1, Dismiss{1});
    CHECK(rig.closed_with(2) == CloseReasonCode::wrong_code);
    CHECK(rig.last<Left>(1).joins_left == 2);
    rig.join(3, number);
    rig.core.on_disconnect(rig.now, 3);  // leaving without a word is an attempt, too
    CHECK(rig.last<Left>(1).joins_left == 1);
    rig.join(4, number);
    // This one is for an end that has left, and must not hit the next.
    rig.core.on_message(rig.now, 1, Dismiss{1});
    rig.core.on_message(rig.now, 1, Settled{2});
    rig.core.on_message(rig.now, 1, Peer{2, from_text("late")});
    CHECK(std::holds_alternative<Joined>(rig.out.sent[4].back()));
    rig.core.on_message(rig.now, 1, Dismiss{3});
    CHECK(rig.closed_with(4) == CloseReasonCode::wrong_code);
    CHECK(rig.closed_with(1) == CloseReasonCode::wrong_code);
    CHECK(rig.core.sessions() == 0);
    rig.join(5, number);
    CHECK(rig.closed_with(5) == CloseReasonCode::unknown_number);
}

TEST_CASE("the ends of a pair get each other's bytes, and nobody else's") {
    Rig rig;
    rig.pair();
    const std::uint32_t other = rig.claim(3, address_of(3)).number;
    rig.join(4, other, address_of(4));
    rig.core.on_message(rig.now, 3, Settled{1});
    rig.core.on_message(rig.now, 1, Data{from_text("there")});
    rig.core.on_message(rig.now, 2, Data{from_text("back")});
    CHECK(rig.last<Data>(2).body == from_text("there"));
    CHECK(rig.last<Data>(1).body == from_text("back"));
    CHECK(rig.out.pauses.at(1) == Duration::zero());
    CHECK(std::ranges::none_of(rig.out.sent[4], [](const Message& m) { return std::holds_alternative<Data>(m); }));
    CHECK(rig.core.counters().passed_bytes == 9);
}

TEST_CASE("BIND is answered with the address from which it came, and with fewer bytes") {
    Rig rig;
    const Token token = rig.claim(1).token;
    rig.core.on_datagram(address_of(1, 7000), encode(Bind{token}));
    REQUIRE(rig.out.datagrams.size() == 1);
    CHECK(rig.out.datagrams.front().first == address_of(1, 7000));
    CHECK(rig.out.datagrams.front().second.size() < Bind::kBytes);
    const auto answer = parse_bind_answer(rig.out.datagrams.front().second);
    REQUIRE(answer);
    CHECK(answer->token == token);
    CHECK(answer->observed == address_of(1, 7000));
    // The longest answer
    const Address v6{Address::Family::v6, 7000, {0x20, 1, 0xd, 0xb8}};
    rig.core.on_datagram(v6, encode(Bind{token}));
    CHECK(rig.out.datagrams.back().second.size() < Bind::kBytes);
    CHECK(parse_bind_answer(rig.out.datagrams.back().second)->observed == v6);
    rig.out.datagrams.resize(1);
    // An end that has left is a stranger.
    rig.core.on_disconnect(rig.now, 1);
    rig.core.on_datagram(address_of(1, 7000), encode(Bind{token}));
    CHECK(rig.out.datagrams.size() == 1);
}

TEST_CASE("guessed tokens and garbage get no answer") {
    Rig rig;
    rig.pair();
    const Token token = std::get<Claimed>(rig.out.sent[1].front()).token;
    const Address victim = address_of(9, 53);
    Token guess = token;
    guess[15] ^= std::byte{1};
    rig.core.on_datagram(victim, encode(Bind{guess}));
    rig.core.on_datagram(victim, {});
    rig.core.on_datagram(victim, from_text("\x40 a packet from nobody"));
    const auto whole = encode(Bind{token});
    rig.core.on_datagram(victim, std::span(whole).first(Bind::kBytes - 1));
    rig.core.on_datagram(victim, encode(BindAnswer{token, victim}));
    CHECK(rig.out.datagrams.empty());
}

TEST_CASE("before the ends are a pair, nothing is passed on") {
    Rig rig;
    rig.join(2, rig.claim(1).number);
    rig.core.on_message(rig.now, 2, Data{from_text("flood")});
    CHECK(rig.closed_with(2) == CloseReasonCode::violation);
    CHECK(rig.last<Left>(1).joins_left == 2);
    CHECK(rig.core.counters().passed_bytes == 0);
}

TEST_CASE("messages in the wrong order end the connection, and its session") {
    const std::vector<std::pair<std::string, Message>> of_guests{
        {"PEER", Peer{}},       {"DATA", Data{}}, {"DISMISS", Dismiss{}}, {"SETTLED", Settled{}},
        {"CLAIMED", Claimed{}}, {"LEFT", Left{}}, {"JOINED", Joined{}}};
    for (const auto& [name, message] : of_guests) {
        INFO(name);
        Rig rig;
        REQUIRE(rig.core.on_connect(rig.now, 1, address_of(1)));
        rig.core.on_message(rig.now, 1, message);
        CHECK(rig.closed_with(1) == CloseReasonCode::violation);
        rig.core.on_message(rig.now, 1, Claim{});
        CHECK(rig.core.sessions() == 0);
    }
    for (const Message& message : std::vector<Message>{Claim{}, Join{}, Settled{1}, Dismiss{1}, Left{}}) {
        Rig rig;
        rig.pair();
        rig.core.on_message(rig.now, 1, message);
        CHECK(rig.closed_with(1) == CloseReasonCode::violation);
        CHECK(rig.closed_with(2) == CloseReasonCode::other_end);
        CHECK(rig.core.sessions() == 0);
    }
    Rig rig;
    rig.join(2, rig.claim(1).number);
    rig.core.on_message(rig.now, 2, Dismiss{1});
    CHECK(rig.closed_with(2) == CloseReasonCode::violation);
    CHECK(rig.last<Left>(1).joins_left == 2);
    rig.core.on_message(rig.now, 1, Close{});
    CHECK(rig.core.sessions() == 0);
}

TEST_CASE("all sides use the newest version that each of them speaks, and an end that is too old is refused") {
    Rig rig;
    REQUIRE(rig.core.on_connect(rig.now, 1, address_of(1)));
    REQUIRE(rig.core.on_connect(rig.now, 2, address_of(2)));
    REQUIRE(rig.core.on_connect(rig.now, 3, address_of(3)));
    rig.core.on_message(rig.now, 1, Claim{kRendezvousVersion + 1});
    const Claimed claimed = rig.last<Claimed>(1);
    CHECK(claimed.version == kRendezvousVersion);
    rig.core.on_message(rig.now, 2, Join{kOldestRendezvousVersion, claimed.number});
    CHECK(rig.last<Joined>(1).version == kOldestRendezvousVersion);
    CHECK(rig.last<Joined>(2).version == kOldestRendezvousVersion);
    rig.core.on_message(rig.now, 3, Claim{kOldestRendezvousVersion - 1});
    CHECK(rig.closed_with(3) == CloseReasonCode::version);
}

TEST_CASE("the relay keeps its budgets") {
    RelayBudget budget;
    budget.sessions = 2;
    budget.guests = 5;
    budget.guests_of_address = 2;
    budget.joins_of_address = 3;
    budget.peer_messages = 4;
    SECTION("sessions") {
        Rig rig(budget);
        rig.claim(1);
        rig.claim(2);
        REQUIRE(rig.core.on_connect(rig.now, 3, address_of(1)));
        rig.core.on_message(rig.now, 3, Claim{});
        CHECK(rig.closed_with(3) == CloseReasonCode::busy);
        rig.core.on_disconnect(rig.now, 1);
        rig.claim(4);
    }
    SECTION("sessions of one address") {
        budget.sessions_of_address = 1;
        Rig rig(budget);
        rig.claim(1);
        REQUIRE(rig.core.on_connect(rig.now, 2, address_of(1, 6000)));
        rig.core.on_message(rig.now, 2, Claim{});
        CHECK(rig.closed_with(2) == CloseReasonCode::busy);
        rig.claim(3, address_of(2));
    }
    SECTION("claims of one address") {
        budget.claims_of_address = 2;
        Rig rig(budget);
        for (RelayConnectionId id = 1; id <= 2; ++id) {
            rig.claim(id);
            rig.core.on_disconnect(rig.now, id);
        }
        REQUIRE(rig.core.on_connect(rig.now, 3, address_of(1)));
        rig.core.on_message(rig.now, 3, Claim{});
        CHECK(rig.closed_with(3) == CloseReasonCode::busy);
        rig.claim(4, address_of(2));
    }
    SECTION("connections that do nothing") {
        Rig rig(budget);
        CHECK(rig.core.on_connect(rig.now, 1, address_of(1)));
        CHECK(rig.core.on_connect(rig.now, 2, address_of(1, 1)));
        CHECK_FALSE(rig.core.on_connect(rig.now, 3, address_of(1, 2)));
        CHECK(rig.core.on_connect(rig.now, 4, address_of(2)));
        CHECK(rig.core.on_connect(rig.now, 5, address_of(3)));
        CHECK(rig.core.on_connect(rig.now, 6, address_of(4)));
        CHECK_FALSE(rig.core.on_connect(rig.now, 7, address_of(5)));
        rig.now += budget.guest_time;
        rig.core.on_tick(rig.now);
        CHECK(rig.closed_with(1) == CloseReasonCode::expired);
        CHECK(rig.out.closed.size() == 5);
        CHECK(rig.core.on_connect(rig.now, 8, address_of(1)));
    }
    SECTION("a connection that has done nothing for long makes room for one of its address, or for any") {
        Rig rig(budget);
        CHECK(rig.core.on_connect(rig.now, 1, address_of(1)));
        rig.now += 1ms;
        CHECK(rig.core.on_connect(rig.now, 2, address_of(2)));
        CHECK(rig.core.on_connect(rig.now, 3, address_of(2)));
        rig.now += budget.guest_grace - 1ms;
        CHECK_FALSE(rig.core.on_connect(rig.now, 4, address_of(2)));  // the oldest one is of another address
        rig.now += 1ms;
        CHECK(rig.core.on_connect(rig.now, 4, address_of(2)));
        const auto leaves = rig.out.closed;
        REQUIRE(leaves.size() == 1);
        CHECK((leaves.front() == 2 || leaves.front() == 3));
        CHECK(rig.closed_with(leaves.front()) == CloseReasonCode::busy);
        CHECK(rig.core.on_connect(rig.now, 5, address_of(3)));
        CHECK(rig.core.on_connect(rig.now, 6, address_of(4)));
        CHECK(rig.core.on_connect(rig.now, 7, address_of(5)));
        CHECK(rig.closed_with(1) == CloseReasonCode::busy);
    }
    SECTION("an end with a session makes room for nobody") {
        Rig rig(budget);
        rig.claim(1);
        for (std::uint8_t i = 2; i <= 6; ++i) {
            CHECK(rig.core.on_connect(rig.now, i, address_of(i)));
            rig.now += 1ms;
        }
        rig.now += budget.guest_grace;
        CHECK(rig.core.on_connect(rig.now, 7, address_of(7)));
        CHECK(rig.out.closed == std::vector<RelayConnectionId>{2});
    }
    SECTION("joins of one address") {
        Rig rig(budget);
        for (RelayConnectionId id = 1; id <= 4; ++id) {
            rig.join(id, 1000);
            CHECK(rig.closed_with(id) == (id <= 3 ? CloseReasonCode::unknown_number : CloseReasonCode::busy));
        }
        rig.join(5, 1000, address_of(7));
        CHECK(rig.closed_with(5) == CloseReasonCode::unknown_number);
        rig.now += budget.attempt_period;
        rig.join(6, 1000);
        CHECK(rig.closed_with(6) == CloseReasonCode::unknown_number);
        // One line a second, and the number of the others.
        CHECK(rig.out.lines.size() == 2);
        CHECK(rig.out.lines.back().find("and 4 others") != std::string::npos);
    }
    SECTION("messages") {
        Rig rig(budget);
        rig.pair();
        for (int i = 0; i < 4; ++i) rig.core.on_message(rig.now, 1, Peer{1, {}});
        CHECK(rig.last<Peer>(2).body.empty());
        rig.core.on_message(rig.now, 1, Peer{1, {}});
        CHECK(rig.closed_with(1) == CloseReasonCode::violation);
        CHECK(rig.closed_with(2) == CloseReasonCode::other_end);
    }
    SECTION("times") {
        Rig rig(budget);
        const std::uint32_t number = rig.claim(1).number;
        rig.join(2, number);
        rig.now += budget.settle_time;
        rig.core.on_tick(rig.now);
        CHECK(rig.closed_with(2) == CloseReasonCode::expired);
        CHECK(rig.last<Left>(1).joins_left == 2);
        rig.now = Instant{1h} + budget.claim_time;
        rig.core.on_tick(rig.now);
        CHECK(rig.closed_with(1) == CloseReasonCode::expired);
        Rig other(budget);
        other.pair();
        other.now += budget.pair_time - 1s;
        other.core.on_tick(other.now);
        CHECK(other.out.closed.empty());
        other.now += 1s;
        other.core.on_tick(other.now);
        CHECK(other.closed_with(1) == CloseReasonCode::expired);
        CHECK(other.closed_with(2) == CloseReasonCode::expired);
    }
    SECTION("rates") {
        const bool of_pair = GENERATE(true, false);
        (of_pair ? budget.pair_rate : budget.total_rate) = Rate::bytes_per_second(1'000'000);
        Rig rig(budget);
        rig.pair();
        // Small and empty messages do not get around the rate.
        const Data data{std::vector<std::byte>(GENERATE(0U, 1U, 1000U))};
        const auto bytes = static_cast<double>(encode(data).size());
        const int count = static_cast<int>(10'000'000 / bytes);
        const Instant begun = rig.now;
        // The end sends as soon as it may.
        for (int i = 0; i < count; ++i) {
            rig.core.on_message(rig.now, 1, data);
            rig.now += rig.out.pauses.at(1);
        }
        const double rate = count * bytes / to_seconds(rig.now - begun);
        CHECK(rate >= 990'000);
        CHECK(rate <= 1'010'000);
    }
}

TEST_CASE("a relay that stops says so to everyone") {
    Rig rig;
    rig.pair();
    rig.claim(3);
    REQUIRE(rig.core.on_connect(rig.now, 4, address_of(4)));
    rig.core.stop(rig.now);
    for (RelayConnectionId id = 1; id <= 4; ++id) CHECK(rig.closed_with(id) == CloseReasonCode::stopping);
}

TEST_CASE("numbers are drawn at random, and stay free of each other with many sessions") {
    RelayBudget budget;
    budget.sessions = 3000;
    budget.sessions_of_address = 3000;
    budget.claims_of_address = 3000;
    Rig rig(budget);
    std::map<std::uint32_t, int> numbers;
    for (RelayConnectionId id = 1; id <= 3000; ++id) ++numbers[rig.claim(id).number];
    CHECK(numbers.size() == 3000);
    CHECK(numbers.rbegin()->first <= 12'000);
}

TEST_CASE("an address stands for its network, and too many addresses share one limit") {
    AttemptLimit limit(2, 1min);
    const auto v6 = [](std::uint8_t network, std::uint8_t host) {
        return Address{Address::Family::v6, 1, {0x20, 1, 0xd, 0xb8, 0, 0, 0, network, 0, 0, 0, 0, 0, 0, 0, host}};
    };
    CHECK(limit.allow(Instant{1h}, v6(1, 1)));
    CHECK(limit.allow(Instant{1h}, v6(1, 2)));
    CHECK_FALSE(limit.allow(Instant{1h}, v6(1, 3)));
    CHECK(limit.allow(Instant{1h}, v6(2, 1)));
    AttemptLimit full(2, 1min);
    for (std::uint32_t i = 0; i < AttemptLimit::kMostAddresses; ++i) {
        CHECK(full.allow(
            Instant{1h},
            {Address::Family::v4, 1, {10, static_cast<std::uint8_t>(i >> 8U), static_cast<std::uint8_t>(i)}}));
    }
    CHECK(full.allow(Instant{1h}, address_of(1)));
    CHECK(full.allow(Instant{1h}, address_of(2)));
    CHECK_FALSE(full.allow(Instant{1h}, address_of(3)));
    CHECK(full.allow(Instant{1h + 1min}, address_of(3)));
    AddressTally tally;
    tally.add(v6(1, 1));
    tally.add(v6(1, 2));
    CHECK(tally.count(v6(1, 9)) == 2);
    tally.remove(v6(1, 3));
    tally.remove(v6(1, 3));
    tally.remove(v6(1, 3));
    CHECK(tally.count(v6(1, 9)) == 0);
}

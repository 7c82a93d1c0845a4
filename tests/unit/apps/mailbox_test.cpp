// Two ends and a relay over real sockets: they meet with a code, a wrong code gives no key, and a relay that lies gets
// nothing.
#include <csignal>
#include <future>
#include <string>

#include "lying_relay.hpp"
#include "rendezvous/mailbox.hpp"
#include "rendezvous/relay.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;
using test::from_text;
using test::to_hex;

namespace {

Patience within(Duration time) { return {monotonic_now() + time, -1}; }

std::unique_ptr<Relay> start_relay(const RelayBudget& budget = {}) {
    std::signal(SIGPIPE, SIG_IGN);
    auto relay = Relay::start({.listen = {.host = "127.0.0.1", .port = 0}, .budget = budget, .report = {}});
    REQUIRE(relay);
    return std::move(*relay);
}

Mailbox claim(const Address& relay) {
    SystemRng random;
    auto made = Mailbox::claim({relay}, random, within(10s));
    REQUIRE(made);
    return std::move(*made);
}

using Met = Result<Mailbox::Meeting>;

Met meet(Mailbox& end, const std::string& own, Duration time = 10s) {
    return end.meet([&] { return from_text(own); }, within(time));
}

Met join_and_meet(const Address& relay, const Code& code, Duration time = 10s) {
    auto end = Mailbox::join({relay}, code, within(time));
    if (!end) return end.error();
    return meet(*end, "of the receiver", time);
}

/// Another code with the same number.
Code wrong(const Code& code) {
    Code other = code;
    other.words[1] = code_word(code.words[1] == code_word(5) ? 6 : 5);
    return other;
}

std::string hex_key(const Met& met) { return to_hex(met->key.bytes()); }

/// What both ends get from one meeting through a relay that lies.
struct Outcome {
    Met sender = Error{};
    Met receiver = Error{};
};
/// `time` need not be enough for a meeting, as long as no key is expected.
Outcome meet_through(const LyingRelay::Lie& lie, Duration time = 600ms) {
    const auto honest = start_relay();
    const LyingRelay relay(honest->address(), lie);
    Mailbox sender = claim(relay.address());
    auto receiver = std::async([&, code = sender.code()] { return join_and_meet(relay.address(), code, time); });
    Outcome outcome;
    outcome.sender = meet(sender, "of the sender", time);
    sender.close();
    outcome.receiver = receiver.get();
    return outcome;
}

}  // namespace

TEST_CASE("two ends with the same code get a key and each other's bytes") {
    const auto relay = start_relay();
    Mailbox sender = claim(relay->address());
    CHECK(parse_code(to_text(sender.code())));
    CHECK(sender.code_seconds() == 3600);
    auto joining = std::async([&] { return Mailbox::join({relay->address()}, sender.code(), within(10s)); });
    auto meeting = std::async([&] { return meet(sender, "of the sender"); });
    auto receiver = joining.get();
    REQUIRE(receiver);
    const Met there = meet(*receiver, "of the receiver");
    const Met here = meeting.get();
    REQUIRE(here);
    REQUIRE(there);
    CHECK(hex_key(here) == hex_key(there));
    CHECK(hex_key(here) != std::string(64, '0'));
    CHECK(here->peer == from_text("of the receiver"));
    CHECK(there->peer == from_text("of the sender"));
    CHECK(sender.token() != receiver->token());
    // Further messages, in both directions.
    const auto longest = std::vector<std::byte>(Mailbox::kMaxBytes, std::byte{7});
    REQUIRE(sender.send(longest, within(10s)));
    REQUIRE(receiver->send({}, within(10s)));
    const auto arrived = receiver->receive(within(10s));
    REQUIRE(arrived);
    CHECK(std::get<Mailbox::Sealed>(*arrived).message == longest);
    REQUIRE(sender.receive(within(10s)));
    const auto nothing = sender.poll_arrival();
    REQUIRE(nothing);
    CHECK_FALSE(nothing->has_value());
    CHECK(sender.receive(within(50ms)).error().code == ErrorCode::timeout);
    // The other end leaves.
    receiver->close();
    CHECK(sender.receive(within(10s)).error().message.find("the other end has left") == 0);
    CHECK(relay->stop().pairs == 1);
}

TEST_CASE("a wrong code gives no key, and the next end with the right one does") {
    const auto relay = start_relay();
    Mailbox sender = claim(relay->address());
    std::vector<std::size_t> lefts;
    sender.on_wrong_code = [&](std::size_t left) { lefts.push_back(left); };
    auto meeting = std::async([&] { return meet(sender, "of the sender"); });
    for (int i = 0; i < 2; ++i) {
        const Met wrong_one = join_and_meet(relay->address(), wrong(sender.code()));
        REQUIRE_FALSE(wrong_one);
        CHECK(wrong_one.error().code == ErrorCode::authentication);
        CHECK(wrong_one.error().message.find("the words of the code are wrong") == 0);
    }
    const Met right = join_and_meet(relay->address(), sender.code());
    const Met here = meeting.get();
    REQUIRE(here);
    REQUIRE(right);
    CHECK(hex_key(here) == hex_key(right));
    CHECK(lefts == std::vector<std::size_t>{2, 1});
}

TEST_CASE("after three wrong codes the code is useless") {
    const auto relay = start_relay();
    Mailbox sender = claim(relay->address());
    auto meeting = std::async([&] { return meet(sender, "of the sender"); });
    for (int i = 0; i < 3; ++i) CHECK_FALSE(join_and_meet(relay->address(), wrong(sender.code())));
    const Met here = meeting.get();
    REQUIRE_FALSE(here);
    CHECK(here.error().code == ErrorCode::authentication);
    const Met late = join_and_meet(relay->address(), sender.code());
    REQUIRE_FALSE(late);
    CHECK(late.error().message.find("nobody waits with the number") == 0);
}

TEST_CASE("ends that join and leave, or send nonsense, use up attempts but do not end the claim") {
    const auto relay = start_relay();
    Mailbox sender = claim(relay->address());
    auto meeting = std::async([&] { return meet(sender, "of the sender"); });
    {
        auto leaves = Mailbox::join({relay->address()}, sender.code(), within(10s));
        REQUIRE(leaves);
    }
    {
        // The share is not a point.
        auto link = RelayLink::connect({relay->address()}, within(10s));
        REQUIRE(link);
        std::optional<Message> got;
        for (int i = 0; i < 500 && !got; ++i) {
            // The relay may not know yet that the end before has left.
            REQUIRE(link->send(Join{1, sender.code().number}, within(10s)));
            auto answer = link->receive(within(10s));
            REQUIRE(answer);
            if (std::holds_alternative<Joined>(*answer)) {
                got = std::move(*answer);
                break;
            }
            std::this_thread::sleep_for(10ms);
            auto again = RelayLink::connect({relay->address()}, within(10s));
            REQUIRE(again);
            *link = std::move(*again);
        }
        REQUIRE(got);
        REQUIRE(link->send(Peer{std::get<Joined>(*got).join, from_text("\x01nonsense")}, within(10s)));
        for (;;) {
            const auto answer = link->receive(within(10s));
            REQUIRE(answer);
            if (const auto* const closed = std::get_if<Close>(&*answer)) {
                CHECK(closed->code == CloseReasonCode::wrong_code);
                break;
            }
        }
    }
    const Met right = join_and_meet(relay->address(), sender.code());
    const Met here = meeting.get();
    REQUIRE(here);
    REQUIRE(right);
}

TEST_CASE("calls of a mailbox end in time, and when they are told to") {
    const auto relay = start_relay();
    Mailbox sender = claim(relay->address());
    CHECK(meet(sender, "x", 100ms).error().code == ErrorCode::timeout);
    Mailbox other = claim(relay->address());
    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    const UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    auto meeting = std::async([&] {
        return other.meet([] { return from_text("x"); }, {monotonic_now() + 10s, read_end.get()});
    });
    write_end.reset();
    CHECK(meeting.get().error().code == ErrorCode::interrupted);
}

TEST_CASE("without a relay there is a clear error") {
    std::signal(SIGPIPE, SIG_IGN);
    SystemRng random;
    // A bound port that does not listen.
    const auto socket = bind_udp({Address::Family::v4, 0, {127, 0, 0, 1}});
    REQUIRE(socket);
    const auto refused = Mailbox::claim({socket->local}, random, within(10s));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::network);
    CHECK(refused.error().message.find("cannot reach the relay at 127.0.0.1:") == 0);
    const auto relay = start_relay();
    // The second address works.
    CHECK(Mailbox::claim({socket->local, relay->address()}, random, within(10s)));
    const auto nobody = Mailbox::join({relay->address()}, *parse_code("1000-crystal-hamster-anchor"), within(10s));
    REQUIRE_FALSE(nobody);
    CHECK(nobody.error().message.find("nobody waits with the number 1000") == 0);
}

TEST_CASE("a relay that accepts connections and says nothing costs a bounded time") {
    boost::asio::io_context context;
    boost::asio::ip::tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
    const Address silent{Address::Family::v4, acceptor.local_endpoint().port(), {127, 0, 0, 1}};
    SystemRng random;
    const Instant start = monotonic_now();
    const auto made = Mailbox::claim({silent}, random, within(200ms));
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::timeout);
    CHECK(monotonic_now() - start < 5s);
}

TEST_CASE("a relay that passes everything on is no hindrance") {
    const Outcome honest = meet_through([](std::size_t, bool, const Message& m) { return std::vector{m}; }, 10s);
    REQUIRE(honest.sender);
    REQUIRE(honest.receiver);
    CHECK(hex_key(honest.sender) == hex_key(honest.receiver));
}

TEST_CASE("a relay that changes, drops, repeats or cuts a message of the ends gets them no wrong key") {
    // Messages of each end: share, confirmation, sealed bytes.
    enum class How { changes_first, changes_last, drops, repeats, cuts, empties };
    for (const std::size_t end : {0U, 1U}) {
        for (const std::size_t which : {0U, 1U, 2U}) {
            for (const How how :
                 {How::changes_first, How::changes_last, How::drops, How::repeats, How::cuts, How::empties}) {
                INFO("end " << end << " message " << which << " how " << static_cast<int>(how));
                std::array<std::size_t, 2> seen{};
                const Outcome outcome = meet_through([&](std::size_t connection, bool to_end, const Message& message) {
                    std::vector<Message> told{message};
                    if (to_end || !std::holds_alternative<Peer>(message) || connection != end) return told;
                    if (seen[connection]++ != which) return told;
                    auto& body = std::get<Peer>(told[0]).body;
                    switch (how) {
                        case How::changes_first:
                            body[1] ^= std::byte{1};
                            break;
                        case How::changes_last:
                            body.back() ^= std::byte{1};
                            break;
                        case How::drops:
                            told.clear();
                            break;
                        case How::repeats:
                            told.push_back(message);
                            break;
                        case How::cuts:
                            body.pop_back();
                            break;
                        case How::empties:
                            body.clear();
                            break;
                    }
                    return told;
                });
                const Met& from = end == 0 ? outcome.sender : outcome.receiver;
                const Met& to = end == 0 ? outcome.receiver : outcome.sender;
                if (how == How::repeats && which == 2) continue;  // noticed by the next call
                CHECK_FALSE(to);
                // The other end may have all that it needs, if only the last message was changed.
                if (which < 2 && how != How::repeats) CHECK_FALSE(from);
                if (from) CHECK(hex_key(from) != std::string(64, '0'));
            }
        }
    }
}

TEST_CASE("a relay that swaps or reflects messages gets no end to accept a key") {
    SECTION("an end's own messages come back") {
        std::array<std::vector<Message>, 2> said;
        const Outcome outcome = meet_through([&](std::size_t connection, bool to_end, const Message& message) {
            if (!std::holds_alternative<Peer>(message)) return std::vector{message};
            if (!to_end) {
                said[connection].push_back(message);
                return std::vector{message};
            }
            if (said[connection].empty()) return std::vector<Message>{};
            std::vector<Message> back{said[connection].front()};
            if (said[connection].size() > 1) said[connection].erase(said[connection].begin());
            return back;
        });
        CHECK_FALSE(outcome.sender);
        CHECK_FALSE(outcome.receiver);
    }
    SECTION("the share and the confirmation change places") {
        std::array<std::vector<Message>, 2> held;
        const Outcome outcome = meet_through([&](std::size_t connection, bool to_end, const Message& message) {
            if (to_end || !std::holds_alternative<Peer>(message) || connection != 1) return std::vector{message};
            held[connection].push_back(message);
            if (held[connection].size() < 2) return std::vector<Message>{};
            return std::vector<Message>{held[connection][1], held[connection][0]};
        });
        CHECK_FALSE(outcome.sender);
        CHECK_FALSE(outcome.receiver);
    }
    SECTION("the number of the receiver is another one") {
        const auto honest = start_relay();
        Mailbox first = claim(honest->address());
        const LyingRelay relay(honest->address(), [&](std::size_t, bool, const Message& message) {
            if (std::holds_alternative<Join>(message)) return std::vector<Message>{Join{1, first.code().number}};
            return std::vector{message};
        });
        Mailbox second = claim(relay.address());
        auto meeting = std::async([&] { return meet(first, "of the first", 2s); });
        const Met joined = join_and_meet(relay.address(), second.code(), 2s);
        CHECK_FALSE(joined);
        CHECK_FALSE(meeting.get());
    }
}

TEST_CASE("a relay that changes, repeats or reorders later messages is noticed") {
    for (const int how : {0, 1, 2, 3}) {
        INFO(how);
        const auto honest = start_relay();
        std::size_t seen = 0;
        std::vector<Message> held;
        const LyingRelay relay(honest->address(), [&](std::size_t connection, bool to_end, const Message& message) {
            std::vector<Message> told{message};
            if (to_end || connection != 0 || !std::holds_alternative<Peer>(message)) return told;
            const std::size_t number = seen++;
            if (number < 3) return told;
            if (how == 0) std::get<Peer>(told[0]).body.back() ^= std::byte{0x80};
            if (how == 1) told.push_back(message);
            if (how == 2 && number == 3) return std::vector<Message>{};  // left out
            if (how == 3 && number == 3) {
                held = std::move(told);
                return std::vector<Message>{};
            }
            if (how == 3) told.push_back(held.at(0));
            return told;
        });
        Mailbox sender = claim(relay.address());
        auto meeting = std::async([&] { return meet(sender, "of the sender"); });
        auto receiver = Mailbox::join({relay.address()}, sender.code(), within(10s));
        REQUIRE(receiver);
        REQUIRE(meet(*receiver, "of the receiver"));
        REQUIRE(meeting.get());
        REQUIRE(sender.send(from_text("one"), within(10s)));
        REQUIRE(sender.send(from_text("two"), within(10s)));
        Result<Mailbox::Arrival> arrival = receiver->receive(within(10s));
        if (how == 1) {
            REQUIRE(arrival);
            arrival = receiver->receive(within(10s));
        }
        REQUIRE_FALSE(arrival);
        CHECK(arrival.error().code == ErrorCode::integrity);
        CHECK_FALSE(receiver->receive(within(10s)));
    }
}

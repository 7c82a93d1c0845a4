#include "path/validator.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Address;
using udtx::Instant;
using udtx::path::Validator;

namespace {
Address host(std::uint8_t last, std::uint16_t port) {
    Address a{.family = Address::Family::v4, .port = port};
    a.ip = {10, 0, 0, last};
    return a;
}
}  // namespace

TEST_CASE("an address is valid only when the challenge comes back") {
    Validator v;
    CHECK_FALSE(v.on_response(0));
    v.on_packet_from(Instant{}, {}, host(1, 7), 100, 42);
    CHECK(v.challenge_due(Instant{}));
    v.on_challenge_sent(Instant{}, 60, 10ms);
    CHECK_FALSE(v.challenge_due(Instant{9ms}));
    CHECK(v.challenge_due(Instant{10ms}));
    CHECK_FALSE(v.on_response(41));
    CHECK(v.on_response(42));
    v.clear();
    CHECK_FALSE(v.on_response(42));
}

TEST_CASE("at most three times as much goes to an address as came from it") {
    Validator v;
    v.on_packet_from(Instant{}, {}, host(1, 7), 100, 42);
    CHECK(v.credit() == 300);
    v.on_challenge_sent(Instant{}, 250, 10ms);
    CHECK(v.credit() == 50);
    v.on_challenge_sent(Instant{}, 60, 10ms);
    CHECK(v.credit() == 0);
    v.on_packet_from(Instant{}, {}, host(1, 7), 100, 43);
    CHECK(v.credit() == 290);
    CHECK(v.challenge() == 42);
}

TEST_CASE("another address starts afresh, and a dead one is given up for a while") {
    Validator v;
    v.on_packet_from(Instant{}, {}, host(1, 7), 100, 42);
    v.on_packet_from(Instant{}, {}, host(1, 8), 100, 43);
    CHECK(v.challenge() == 43);
    Instant now{};
    for (int i = 0; i < 5; ++i) {
        REQUIRE(v.challenge_due(now));
        v.on_challenge_sent(now, 30, 10ms);
        now += 10ms;
    }
    CHECK_FALSE(v.challenge_due(now + 1h));
    CHECK_FALSE(v.deadline());
    v.on_packet_from(now, {}, host(1, 8), 100, 44);
    CHECK_FALSE(v.challenge_due(now));
    v.on_packet_from(now + 2s, {}, host(1, 8), 100, 45);
    CHECK(v.challenge_due(now + 2s));
    CHECK(v.challenge() == 45);
}

TEST_CASE("an address of our own choice is asked for less and less often, for as long as we like") {
    Validator v;
    v.ask(Instant{}, host(1, 7), host(2, 7), 42);
    Instant now{};
    int tries = 0;
    Instant last = now;
    while (now < Instant{60s}) {
        if (v.challenge_due(now)) {
            CHECK(v.credit() >= 1200);
            v.on_challenge_sent(now, 1200, 1ms);
            ++tries;
            last = now;
        }
        REQUIRE(v.deadline());
        now = *v.deadline();
    }
    CHECK(v.tries() == tries);
    CHECK(tries >= 14);  // at 0.2, 0.6, 1.4, 3, 6.2 s, then every 5 s
    CHECK(tries <= 17);
    CHECK(now - last == 5s);
    v.on_packet_from(now, host(1, 7), host(3, 7), 1200, 43);  // a packet from another address does not replace it
    CHECK(v.remote() == host(2, 7));
    CHECK(v.on_response(42));
}

TEST_CASE("every other challenge is small once several of the usual size had no answer") {
    Validator v;
    v.ask(Instant{}, {}, host(1, 7), 42);
    for (const bool small : {false, false, false, true, false, true, false}) {
        CHECK(v.small_next() == small);
        const std::uint64_t value = v.challenge();
        CHECK(v.on_response(value));
        CHECK(v.was_small(value) == small);
        v.on_challenge_sent(Instant{}, 1200, 10ms);
    }
    CHECK_FALSE(v.on_response(44));
}

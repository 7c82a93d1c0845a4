#include "observe/observer.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

constexpr Duration kTick = 100ms;

LimitSample start() {
    LimitSample s;
    s.phase = transfer::Phase::transfer;
    s.rtt = 20ms;
    return s;
}

void pass(LimitSample& s, SendHold why, Duration time = kTick) {
    s.at += time;
    s.held[static_cast<std::size_t>(why)] += time;
    s.hold = why;
}

/// The limit after one tick with this cause; `change` edits the sample before the meter gets it.
template <class Change>
Limit limit_of(SendHold why, Change&& change) {
    LimitMeter meter(true);
    LimitSample s = start();
    meter.sample(s);
    pass(s, why);
    change(s);
    meter.sample(s);
    REQUIRE(meter.now());
    return *meter.now();
}
Limit limit_of(SendHold why) {
    return limit_of(why, [](LimitSample&) {});
}

}  // namespace

TEST_CASE("each hold leads to its limit") {
    CHECK(limit_of(SendHold::network) == Limit::network);
    CHECK(limit_of(SendHold::cap) == Limit::rate_cap);
    CHECK(limit_of(SendHold::credit) == Limit::receiver_disk);
    CHECK(limit_of(SendHold::application) == Limit::sender_disk);
}

TEST_CASE("a source that is a pipe, and readers that need a whole processor") {
    CHECK(limit_of(SendHold::application, [](LimitSample& s) { s.streaming = true; }) == Limit::input);
    CHECK(limit_of(SendHold::application, [](LimitSample& s) { s.others = 95ms; }) == Limit::sender_cpu);
}

TEST_CASE("what the receiver says of itself decides what its flow control means") {
    const auto with = [](double disk, double cpu) {
        return limit_of(SendHold::credit, [&](LimitSample& s) { s.receiver = transfer::ReceiverLoad{disk, cpu}; });
    };
    CHECK(with(0.95, 0.2) == Limit::receiver_disk);
    CHECK(with(0.05, 0.2) == Limit::receive_window);
    CHECK(with(0.05, 0.95) == Limit::receiver_cpu);
}

TEST_CASE("a protocol thread that never rests is the limit") {
    CHECK(limit_of(SendHold::network, [](LimitSample& s) { s.protocol = 95ms; }) == Limit::sender_cpu);
    CHECK(limit_of(SendHold::host, [](LimitSample& s) { s.protocol = 95ms; }) == Limit::sender_cpu);
    CHECK(limit_of(SendHold::host) == Limit::network);  // the interface accepts no more packets
    CHECK(limit_of(SendHold::network, [](LimitSample& s) {
              s.receiver = transfer::ReceiverLoad{0.1, 0.95};
          }) == Limit::receiver_cpu);
    CHECK(limit_of(SendHold::cap, [](LimitSample& s) { s.protocol = 95ms; }) == Limit::rate_cap);
}

TEST_CASE("a network that loses one packet in a hundred is told from one that does not") {
    for (const std::uint64_t lost : {0U, 1U, 10U}) {
        LimitMeter meter(true);
        LimitSample s = start();
        for (int i = 0; i < 20; ++i) {
            pass(s, SendHold::network);
            s.sent_packets += 1000;
            s.lost_packets += lost;
            meter.sample(s);
        }
        CHECK(*meter.now() == (lost >= 10 ? Limit::path_loss : Limit::network));
    }
}

TEST_CASE("while the process is stopped, it is an outage") {
    for (const bool sends : {true, false}) {
        LimitMeter meter(sends);
        LimitSample s = start();
        meter.sample(s);
        pass(s, SendHold::cap);
        meter.sample(s);
        pass(s, SendHold::cap, 66s);
        meter.sample(s);
        CHECK(*meter.now() == Limit::outage);
        pass(s, SendHold::cap);
        meter.sample(s);
        REQUIRE_FALSE(meter.shares().empty());
        CHECK(meter.shares().front().limit == Limit::outage);
        CHECK(meter.shares().front().share > 0.95);
    }
}

TEST_CASE("after the last byte it is the receiver's disk, when that takes longer than a round trip") {
    LimitMeter meter(true);
    LimitSample s = start();
    pass(s, SendHold::network);
    meter.sample(s);
    s.source_read = true;
    pass(s, SendHold::application);
    meter.sample(s);
    CHECK(*meter.now() == Limit::small_data);  // during the last round trip
    s.phase = transfer::Phase::flush;
    s.at += 10ms;
    meter.sample(s);
    CHECK(*meter.now() == Limit::small_data);
    for (int i = 0; i < 10; ++i) {
        pass(s, SendHold::application);
        meter.sample(s);
    }
    CHECK(*meter.now() == Limit::receiver_disk);
    s.phase = transfer::Phase::verify;
    pass(s, SendHold::application);
    meter.sample(s);
    CHECK(*meter.now() == Limit::receiver_disk);
}

TEST_CASE("a tick goes to what held longest, and the time nobody looked to the cause of then") {
    LimitMeter meter(true);
    LimitSample s = start();
    s.held[static_cast<std::size_t>(SendHold::network)] = 40ms;
    s.held[static_cast<std::size_t>(SendHold::cap)] = 10ms;
    s.hold = SendHold::cap;  // for the last 50 ms
    s.at = kTick;
    meter.sample(s);
    CHECK(*meter.now() == Limit::rate_cap);
}

TEST_CASE("a connection that takes the place of a lost one begins its counters anew") {
    LimitMeter meter(true);
    LimitSample s = start();
    s.sent_packets = 5000;
    s.lost_packets = 70;
    pass(s, SendHold::network);
    meter.sample(s);
    meter.begin_connection();
    s.held = {};
    s.sent_packets = 100;
    s.lost_packets = 0;
    pass(s, SendHold::cap);
    meter.sample(s);
    CHECK(*meter.now() == Limit::rate_cap);
    pass(s, SendHold::network);
    s.sent_packets += 100;
    meter.sample(s);
    for (int i = 0; i < 30; ++i) {
        pass(s, SendHold::network);
        s.sent_packets += 400;
        meter.sample(s);
    }
    CHECK(*meter.now() == Limit::network);
}

TEST_CASE("a silence that turns out to be an outage is one from its beginning") {
    LimitMeter meter(true);
    LimitSample s = start();
    const auto spend = [&](int ticks, bool unanswered, bool outage) {
        s.unanswered = unanswered;
        s.outage = outage;
        for (int i = 0; i < ticks; ++i) {
            pass(s, SendHold::network);
            meter.sample(s);
        }
    };
    spend(20, false, false);
    spend(10, true, false);  // these are answered in the end
    spend(10, false, false);
    CHECK(limit_line(meter.shares()) == "limited by: network 100 % of the time");
    spend(30, true, false);
    spend(30, true, true);
    CHECK(*meter.now() == Limit::outage);
    meter.begin_connection();
    spend(20, false, false);
    CHECK(limit_line(meter.shares()) == "limited by: network 50 % of the time, outage 50 %");
}

TEST_CASE("shares add up, largest first, and make a line") {
    LimitMeter meter(true);
    LimitSample s = start();
    for (int i = 0; i < 82; ++i) {
        pass(s, SendHold::credit);
        meter.sample(s);
    }
    for (int i = 0; i < 18; ++i) {
        pass(s, SendHold::network);
        meter.sample(s);
    }
    const auto shares = meter.shares();
    REQUIRE(shares.size() == 2);
    CHECK(limit_line(shares) == "limited by: receiver disk 82 % of the time, network 18 %");
    CHECK(limit_line({}).empty());
}

TEST_CASE("a receiver knows its own limits only") {
    LimitMeter meter(false);
    LimitSample s = start();
    s.at += kTick;
    s.writing += 95ms;
    meter.sample(s);
    CHECK(*meter.now() == Limit::receiver_disk);
    s.at += kTick;
    s.protocol += 95ms;
    meter.sample(s);
    CHECK(*meter.now() == Limit::receiver_cpu);
    s.at += kTick;
    meter.sample(s);
    CHECK(*meter.now() == Limit::elsewhere);
}

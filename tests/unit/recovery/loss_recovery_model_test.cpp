// Compares LossRecovery and AckTracker with a naive record of each packet, over a lossy and reordering channel.
#include <map>
#include <random>

#include "recovery/ack_tracker.hpp"
#include "test/catch.hpp"
#include "unit/recovery/harness.hpp"

using namespace std::chrono_literals;
using namespace udtx;

namespace {

enum class Fate { in_flight, acked, lost };

struct Record {
    Fate fate = Fate::in_flight;
    std::uint32_t bytes = 0;
    bool arrived = false;
};

class Model {
  public:
    void sent(PacketNumber number, std::uint32_t bytes) { records_[number] = {Fate::in_flight, bytes, false}; }
    void arrived(PacketNumber number) { records_.at(number).arrived = true; }

    void apply(const recovery::Outcome& out) {
        std::uint64_t bytes = 0;
        std::uint32_t spurious = 0;
        PacketNumber below = 0;
        for (const auto& packet : out.acked) {
            REQUIRE(packet.number >= below);
            below = packet.number + 1;
            Record& record = records_.at(packet.number);
            REQUIRE(record.arrived);
            REQUIRE(record.fate != Fate::acked);
            if (record.fate == Fate::lost) ++spurious;
            if (record.fate == Fate::in_flight) bytes += record.bytes;
            record.fate = Fate::acked;
        }
        REQUIRE(out.acked_bytes == bytes);
        REQUIRE(out.spurious == spurious);
        for (const auto& packet : out.lost) {
            REQUIRE(records_.at(packet.number).fate == Fate::in_flight);
            records_.at(packet.number).fate = Fate::lost;
        }
    }
    [[nodiscard]] std::uint64_t in_flight() const {
        std::uint64_t bytes = 0;
        for (const auto& [number, record] : records_) bytes += record.fate == Fate::in_flight ? record.bytes : 0;
        return bytes;
    }

  private:
    std::map<PacketNumber, Record> records_;
};

struct Travelling {
    PacketNumber number;
    bool eliciting;
};

void run(std::uint64_t seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    recovery::Harness h;
    recovery::AckTracker tracker(PathId{}, kSynInterval);
    Model model;
    std::multimap<Instant, Travelling> channel;
    std::multimap<Instant, wire::AckFrame> back;
    Instant now;
    for (int step = 0; step < 3000; ++step) {
        now += std::chrono::microseconds(500);
        if (step < 2000 && chance(5)) h.recovery.skip_number();
        if (step < 2000 && !chance(20)) {
            const auto bytes = static_cast<std::uint32_t>(100 + random() % 1300);
            const auto number = h.send(now, bytes);
            model.sent(number, bytes);
            const auto jitter = std::chrono::microseconds(chance(15) ? random() % 30'000 : 0);
            if (!chance(10)) channel.emplace(now + 10ms + jitter, Travelling{number, true});
        }
        for (; !channel.empty() && channel.begin()->first <= now; channel.erase(channel.begin())) {
            const Travelling packet = channel.begin()->second;
            REQUIRE(tracker.on_received(now, packet.number, packet.eliciting));
            REQUIRE_FALSE(tracker.on_received(now, packet.number, packet.eliciting));
            model.arrived(packet.number);
        }
        wire::AckFrame frame;
        if (tracker.due(now) && tracker.build(now, wire::kMaxAckRanges, frame) && !chance(20)) {
            back.emplace(now + 10ms + std::chrono::microseconds(random() % 5000), frame);
        }
        for (; !back.empty() && back.begin()->first <= now; back.erase(back.begin())) {
            REQUIRE(h.recovery.on_ack(now, back.begin()->second, 0ms, h.out).ok());
            model.apply(h.out);
            if (chance(30)) tracker.on_ack_acknowledged(back.begin()->second.largest());
        }
        if (const auto deadline = h.recovery.deadline(); deadline && *deadline <= now) {
            h.recovery.on_timeout(now, h.out);
            model.apply(h.out);
            REQUIRE((h.out.probe_timeout || !h.out.lost.empty() || h.recovery.deadline() != deadline));
        }
        if (step % 50 == 0) REQUIRE(h.recovery.in_flight() == model.in_flight());
    }
    REQUIRE(h.recovery.in_flight() == model.in_flight());
}

}  // namespace

TEST_CASE("loss recovery: agrees with a naive record of every packet") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) run(seed);
}

#include "transfer/shard/job_rate.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kLimit = 400'000'000;

/// Shards that use their full share, as far as their path allows. Each takes its turns at a different time. A new cap
/// reaches the sender `late` after the shard sends it.
class Fleet {
  public:
    Fleet(std::size_t count, std::vector<std::uint64_t> ways, Duration late = 200ms)
        : carriers_(std::move(ways)), late_(late), slots_(count), shards_(count) {
        for (std::size_t i = 0; i < count; ++i) begin(i);
    }

    void begin(std::size_t i) {
        Member& shard = shards_[i];
        std::destroy_at(&shard);
        std::construct_at(&shard);
        shard.claim.emplace(JobShard{1, i, slots_.size(), 1, kLimit});
        shard.cap = shard.in_force = least_share({1, i, slots_.size(), 1, kLimit});
        shard.next_turn = now_ + Duration(17ms) * static_cast<int>(i % 13);
        slots_[i].run = ++runs_;
        slots_[i].state = ShardSlot::State::running;
    }
    /// The sender stops silently: the server keeps running, and no data arrives.
    void silence(std::size_t i) { carriers_[i] = 0; }
    /// The server stops as well.
    void kill(std::size_t i) {
        carriers_[i] = 0;
        shards_[i].dead = true;
    }
    /// Sets the path's rate, unless the server is dead.
    void set_way(std::size_t i, std::uint64_t way) {
        if (!shards_[i].dead) carriers_[i] = way;
    }

    [[nodiscard]] std::uint64_t rate_of(std::size_t i) const { return std::min(shards_[i].in_force, carriers_[i]); }
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < shards_.size(); ++i) all += rate_of(i);
        return all;
    }
    /// Returns the highest total rate at any time.
    std::uint64_t run_for(Duration time) {
        std::uint64_t most = 0;
        for (const Instant end = now_ + time; now_ < end; now_ += 10ms) {
            for (std::size_t i = 0; i < shards_.size(); ++i) step(i);
            most = std::max(most, sum());
        }
        return most;
    }

  private:
    struct Member {
        std::optional<RateClaim> claim;
        ShardLives lives;
        std::uint64_t cap = 0;
        std::uint64_t in_force = 0;
        std::deque<std::pair<Instant, std::uint64_t>> told;  // caps in transit, with the time at which each was sent
        Instant next_turn;
        double measured = 0;
        bool dead = false;
    };
    void step(std::size_t i) {
        Member& shard = shards_[i];
        for (; !shard.told.empty() && now_ - shard.told.front().first >= late_; shard.told.pop_front()) {
            shard.in_force = shard.told.front().second;
        }
        shard.measured += 0.01 * (static_cast<double>(rate_of(i)) - shard.measured);
        if (shard.dead || now_ < shard.next_turn) return;
        shard.next_turn = now_ + kShardTurn;
        ++slots_[i].beat;
        const auto alive = shard.lives.look(now_, slots_);
        const std::uint64_t next = shard.claim->turn(now_, slots_, alive, static_cast<std::uint64_t>(shard.measured));
        if (next != shard.cap) {
            shard.cap = next;
            shard.told.emplace_back(now_, next);
        }
    }

    std::vector<std::uint64_t> carriers_;
    Duration late_;
    std::vector<ShardSlot> slots_;
    std::vector<Member> shards_;
    Instant now_{};
    std::uint64_t runs_ = 0;
};

}  // namespace

TEST_CASE("nobody gets more than it could use, and the rest is shared equally") {
    CHECK(fair_share(100, {10, 200, 200}, 200) == 45);
    CHECK(fair_share(100, {10, 200, 200}, 10) == 10);
    CHECK(fair_share(100, {10, 20, 30}, 30) == 30);
    CHECK(fair_share(100, {100}, 100) == 100);
    CHECK(fair_share(0, {5, 5}, 5) == 0);
}

TEST_CASE("shards fill the rate of their job, and never exceed it") {
    for (const std::size_t count : {1U, 2U, 8U, 100U}) {
        CAPTURE(count);
        Fleet fleet(count, std::vector<std::uint64_t>(count, 1'000'000'000));
        CHECK(fleet.run_for(10s) <= kLimit);
        CHECK(fleet.sum() >= kLimit * 95 / 100);
        for (std::size_t i = 0; i < count; ++i) CHECK(fleet.rate_of(i) >= kLimit / count * 9 / 10);
    }
}

TEST_CASE("what a slow shard leaves, the others take") {
    Fleet fleet(8, {5'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000, 1'000'000'000,
                    1'000'000'000});
    CHECK(fleet.run_for(10s) <= kLimit);
    CHECK(fleet.sum() >= kLimit * 95 / 100);
    CHECK(fleet.rate_of(0) == 5'000'000);
    // Its path becomes fast again.
    fleet.set_way(0, 1'000'000'000);
    CHECK(fleet.run_for(10s) <= kLimit);
    CHECK(fleet.rate_of(0) >= kLimit / 8 * 9 / 10);
    CHECK(fleet.sum() >= kLimit * 95 / 100);
}

TEST_CASE("a shard that dies frees its part within three seconds, and one that comes back gets it again") {
    for (const bool server_too : {false, true}) {
        CAPTURE(server_too);
        Fleet fleet(4, std::vector<std::uint64_t>(4, 1'000'000'000));
        CHECK(fleet.run_for(10s) <= kLimit);
        server_too ? fleet.kill(2) : fleet.silence(2);
        CHECK(fleet.run_for(4s) <= kLimit);  // 3 s to free its share, 1 s until the others use it
        CHECK(fleet.sum() >= kLimit * 93 / 100);
        fleet.begin(2);
        fleet.set_way(2, 1'000'000'000);
        CHECK(fleet.run_for(10s) <= kLimit);
        CHECK(fleet.rate_of(2) >= kLimit / 4 * 9 / 10);
        CHECK(fleet.sum() >= kLimit * 95 / 100);
    }
}

TEST_CASE("whatever comes and goes, the sum stays below the rate") {
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        const std::size_t count = 1 + random() % 20;
        Fleet fleet(count, std::vector<std::uint64_t>(count, 1'000'000'000),
                    Duration(10ms) * static_cast<int>(random() % 50));
        for (int i = 0; i < 30; ++i) {
            const std::size_t one = random() % count;
            switch (random() % 4) {
                case 0:
                    fleet.kill(one);
                    break;
                case 1:
                    fleet.begin(one);
                    fleet.set_way(one, random() % 1'000'000'000);
                    break;
                default:
                    fleet.set_way(one, random() % 2 == 0 ? random() % 10'000'000 : 1'000'000'000);
                    break;
            }
            CHECK(fleet.run_for(Duration(100ms) * static_cast<int>(random() % 40)) <= kLimit);
        }
    }
}

#include "transfer/landing/disk_quota.hpp"

#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "as_ordinary_user.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;

namespace {

constexpr std::uint64_t kBlock = 64 << 10;  // half of one is for directories

struct Account {
    explicit Account(std::uint64_t blocks) : quota(std::make_shared<DiskQuota>(blocks * kBlock + kBlock / 2)) {}
    [[nodiscard]] fs::path at(const std::string& name) const { return temp / name; }
    void put(const std::string& name, std::uint64_t blocks) const {
        write_file(at(name), std::string(static_cast<std::size_t>(blocks * kBlock), 'x'));
    }
    [[nodiscard]] std::unique_ptr<DiskQuota::Charge> charge(const std::string& name) const {
        struct stat st = {};
        REQUIRE(::stat(at(name).c_str(), &st) == 0);
        return std::make_unique<DiskQuota::Charge>(quota, st);
    }
    [[nodiscard]] Result<bool> measure() const {
        std::optional<std::uint64_t> asked;
        return quota->measure(ConfinedDir::open(at("").string()).value(), asked);
    }

    TemporaryDirectory temp;
    std::shared_ptr<DiskQuota> quota;
};

}  // namespace

TEST_CASE("a quota counts what is on the disk once, and what files under way were promised") {
    const Account account(10);
    fs::create_directories(account.at("a"));
    account.put("a/f", 4);
    fs::create_hard_link(account.at("a/f"), account.at("other name"));
    account.put("new", 0);
    account.put("second", 0);
    auto first = account.charge("new");
    CHECK_FALSE(first->grow(kBlock));  // nobody has measured
    REQUIRE(account.measure());
    CHECK(first->grow(3 * kBlock));
    auto second = account.charge("second");
    CHECK_FALSE(second->grow(4 * kBlock));
    CHECK(second->grow(2 * kBlock));
    SECTION("what is written of a promise is not counted twice") {
        account.put("new", 3);
        REQUIRE(account.measure());
        CHECK(second->grow(3 * kBlock));
        first->settle(3 * kBlock);
        first.reset();
        CHECK_FALSE(second->grow(4 * kBlock));
    }
    SECTION("what is removed counts no more") {
        first->settle(0);
        first.reset();
        CHECK(second->grow(5 * kBlock));
    }
    SECTION("what was deleted is found out before something is refused") {
        fs::remove(account.at("a/f"));
        CHECK_FALSE(second->grow(4 * kBlock));
        fs::remove(account.at("other name"));
        CHECK(second->grow(6 * kBlock));
    }
}

TEST_CASE("what an earlier run left counts once when it is continued") {
    const Account account(10);
    account.put("part", 6);
    account.put("other", 0);
    REQUIRE(account.measure());
    const auto part = account.charge("part");
    CHECK(part->grow(9 * kBlock));
    CHECK_FALSE(account.charge("other")->grow(2 * kBlock));
}

TEST_CASE("a directory that holds more than its quota takes nothing, however much of it was looked at") {
    const Account account(4);
    for (int i = 0; i < 5; ++i) {
        fs::create_directory(account.at("d" + std::to_string(i)));
        account.put("d" + std::to_string(i) + "/f", 4);
    }
    REQUIRE(account.measure());
    const auto charge = account.charge("d0/f");  // its blocks are not counted twice, and make no room
    CHECK_FALSE(charge->grow(5 * kBlock));
    CHECK(charge->grow(4 * kBlock));
}

TEST_CASE("a directory of ours that may not be read ends the measuring, one of somebody else's does not") {
    const Account account(100);
    fs::create_directory(account.at("of root"));
    REQUIRE(::chmod(account.at("of root").c_str(), 0700) == 0);
    const AsOrdinaryUser user(account.temp.path());
    CHECK(account.measure());
    fs::create_directory(account.at("ours"));
    REQUIRE(::chmod(account.at("ours").c_str(), 0) == 0);
    const auto measured = account.measure();
    REQUIRE(::chmod(account.at("ours").c_str(), 0700) == 0);
    REQUIRE_FALSE(measured);
    CHECK(measured.error().message.find("cannot measure 'ours'") != std::string::npos);
    CHECK(account.measure());
}

TEST_CASE("many transfers at once never promise more than there is") {
    const Account account(10);
    for (int i = 0; i < 8; ++i) account.put(std::to_string(i), 0);
    REQUIRE(account.measure());
    std::atomic<std::uint64_t> held = 0;
    std::atomic<bool> beyond = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        struct stat st = {};
        REQUIRE(::stat(account.at(std::to_string(i)).c_str(), &st) == 0);
        threads.emplace_back([&, st] {
            for (int round = 0; round < 200; ++round) {
                DiskQuota::Charge charge(account.quota, st);
                if (charge.grow(3 * kBlock)) {
                    if ((held += 3) > 10) beyond = true;
                    held -= 3;
                }
                charge.settle(0);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK_FALSE(beyond);
    auto last = account.charge("0");
    CHECK(last->grow(10 * kBlock));
}

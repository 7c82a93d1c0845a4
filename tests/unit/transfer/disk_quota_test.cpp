#include "transfer/file/quirks/disk_quota.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
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

constexpr std::uint64_t kBlock = 64 << 10;  // the quota adds half a block for directories

struct Account {
    explicit Account(std::uint64_t blocks) : quota(std::make_shared<DiskQuota>(blocks * kBlock + kBlock / 2)) {}
    [[nodiscard]] fs::path at(const std::string& name) const { return temp / name; }
    void put(const std::string& name, std::uint64_t blocks) const {
        write_file(at(name), std::string(static_cast<std::size_t>(blocks * kBlock), 'x'));
    }
    [[nodiscard]] std::unique_ptr<DiskQuota::Charge> charge(const std::string& name) const {
        struct stat st = {};
        REQUIRE(::stat(at(name).c_str(), &st) == 0);
        return std::make_unique<DiskQuota::Charge>(quota, st, false);
    }
    /// Runs one turn of the measurement.
    Result<bool> go_on(DiskQuota::Look& look, const DiskSlice& slice = {}) const {
        return look.go_on(ConfinedDir::open(at("").string()).value(), slice);
    }
    [[nodiscard]] Result<bool> measure(std::uint64_t wanted = 0) const {
        DiskQuota::Look look(quota, wanted);
        Result<bool> over = go_on(look);
        while (over && !*over) over = go_on(look);
        return over;
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
    CHECK_FALSE(first->grow(kBlock));  // the disk was not measured yet
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
    SECTION("what was deleted is found out by another look, and that nothing was is believed for a while") {
        CHECK_FALSE(account.quota->is_known(2 * kBlock));
        CHECK(account.quota->is_known(kBlock));
        fs::remove(account.at("a/f"));
        REQUIRE(account.measure(2 * kBlock));
        CHECK(account.quota->is_known(2 * kBlock));
        CHECK_FALSE(second->grow(4 * kBlock));
        fs::remove(account.at("other name"));
        REQUIRE(account.measure());
        CHECK(second->grow(6 * kBlock));
    }
}

TEST_CASE("what an earlier run left counts once when it is continued") {
    const Account account(10);
    account.put("part", 6);
    account.put("other", 0);
    REQUIRE(account.measure());
    struct stat st = {};
    REQUIRE(::stat(account.at("part").c_str(), &st) == 0);
    DiskQuota::Charge part(account.quota, st, true);
    CHECK(part.grow(9 * kBlock));
    CHECK_FALSE(account.charge("other")->grow(2 * kBlock));
}

TEST_CASE("a file that several shards fill is counted once, until the last of them has ended") {
    const Account account(10);
    account.put("cut", 0);
    account.put("other", 0);
    REQUIRE(account.measure());
    struct stat st = {};
    REQUIRE(::stat(account.at("cut").c_str(), &st) == 0);
    const auto shard = [&] { return std::make_unique<DiskQuota::Charge>(account.quota, st, false, true); };
    auto first = shard();
    CHECK(first->grow(8 * kBlock));
    auto second = shard();
    CHECK(second->grow(8 * kBlock));
    CHECK_FALSE(second->grow(11 * kBlock));
    first->settle(4 * kBlock);  // it does not know what the other shard writes
    first.reset();
    const auto other = account.charge("other");
    CHECK_FALSE(other->grow(3 * kBlock));
    second->settle(5 * kBlock);
    second.reset();
    CHECK_FALSE(other->grow(6 * kBlock));
    CHECK(other->grow(5 * kBlock));
    other->settle(0);
    // A file of a single transfer is charged separately, even with the same inode number.
    auto third = shard();
    auto alone = std::make_unique<DiskQuota::Charge>(account.quota, st, false);
    CHECK(third->grow(3 * kBlock));
    CHECK(alone->grow(2 * kBlock));
    CHECK_FALSE(alone->grow(3 * kBlock));
}

TEST_CASE("nobody waits for a look at the disk that another transfer is at, and one serves all who asked before it") {
    const Account account(100);
    for (int i = 0; i < 200; ++i) account.put("f" + std::to_string(i), 0);
    account.put("f", 90);
    REQUIRE(account.measure());
    fs::remove(account.at("f"));
    const DiskSlice spent;
    while (!spent.over()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    DiskQuota::Look first(account.quota);
    auto charge = account.charge("f0");
    REQUIRE_FALSE(account.go_on(first, spent).value());  // the measurement is in progress
    DiskQuota::Look second(account.quota);
    CHECK_FALSE(account.go_on(second).value());
    CHECK_FALSE(charge->grow(20 * kBlock));  // according to the last measurement
    CHECK(charge->grow(5 * kBlock));
    REQUIRE(account.go_on(first).value());
    CHECK(charge->grow(20 * kBlock));
    DiskQuota::Look third(account.quota);
    CHECK_FALSE(account.go_on(second, spent).value());  // a measurement that started before the request does not count
    while (!account.go_on(second).value()) {
    }
    CHECK(account.go_on(third).value());  // it was requested before that measurement started
    SECTION("one that is given up midway keeps nobody") {
        {
            DiskQuota::Look given_up(account.quota);
            REQUIRE_FALSE(account.go_on(given_up, spent).value());
        }
        CHECK(account.measure());
        CHECK(charge->grow(99 * kBlock));
    }
}

TEST_CASE("a directory that holds more than its quota takes nothing, however much of it was looked at") {
    const Account account(4);
    for (int i = 0; i < 5; ++i) {
        fs::create_directory(account.at("d" + std::to_string(i)));
        account.put("d" + std::to_string(i) + "/f", 4);
    }
    REQUIRE(account.measure());
    const auto charge = account.charge("d0/f");  // its blocks are counted once and give no extra room
    CHECK_FALSE(charge->grow(5 * kBlock));
    CHECK(charge->grow(4 * kBlock));
}

TEST_CASE("a directory of ours that bars us is counted and keeps its mode, one of somebody else's is left out") {
    const Account account(20);
    fs::create_directory(account.at("of root"));
    REQUIRE(::chmod(account.at("of root").c_str(), 0700) == 0);
    const AsOrdinaryUser user(account.temp.path());
    CHECK(account.measure());
    fs::create_directories(account.at("ours/in it/a"));
    account.put("ours/in it/a/f", 8);
    account.put("ours/f", 8);
    account.put("new", 0);
    for (const char* name : {"ours/in it/a", "ours/in it", "ours"}) {
        REQUIRE(::chmod(account.at(name).c_str(), name[4] == 0 ? 0444 : 0) == 0);
    }
    CHECK(account.measure());
    const auto charge = account.charge("new");
    CHECK_FALSE(charge->grow(5 * kBlock));
    CHECK(charge->grow(3 * kBlock));
    CHECK(mode_of(account.at("ours")) == 0444);
    REQUIRE(::chmod(account.at("ours").c_str(), 0700) == 0);
    CHECK(mode_of(account.at("ours/in it")) == 0);
    REQUIRE(::chmod(account.at("ours/in it").c_str(), 0700) == 0);
    CHECK(mode_of(account.at("ours/in it/a")) == 0);
    REQUIRE(::chmod(account.at("ours/in it/a").c_str(), 0700) == 0);
}

TEST_CASE("a look that fails says at what, and what was known goes on to count") {
    const Account account(10);
    fs::create_directory(account.at("a"));
    account.put("a/f", 4);
    account.put("new", 0);
    REQUIRE(account.measure());
    const auto charge = account.charge("new");
    const auto top = ConfinedDir::open(account.at("").string()).value();
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    DiskQuota::Look look(account.quota, 8 * kBlock);
    // Allows descriptors for the directory, but not for reading its entries.
    std::vector<UniqueFd> in_use;  // no descriptor numbers are free between them
    do {
        in_use.emplace_back(::dup(top.fd()));
    } while (in_use.size() < 3 || in_use.back().get() != in_use[in_use.size() - 3].get() + 2);
    const rlimit few{static_cast<rlim_t>(in_use.back().get()) + 1, limit.rlim_max};
    in_use.resize(in_use.size() - 2);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const auto looked = look.go_on(top);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE_FALSE(looked);
    CHECK(looked.error().message.find("cannot measure ''") != std::string::npos);
    CHECK(account.quota->is_known(8 * kBlock));  // it is not measured again immediately
    CHECK_FALSE(charge->grow(8 * kBlock));
    CHECK(charge->grow(5 * kBlock));
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
                DiskQuota::Charge charge(account.quota, st, false);
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

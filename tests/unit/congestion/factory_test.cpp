#include "test/catch.hpp"
#include "udtx/congestion.hpp"
#include "unit/congestion/bottleneck.hpp"

using namespace udtx;

TEST_CASE("factory: makes every controller that it names") {
    const auto names = congestion_controller_names();
    REQUIRE_FALSE(names.empty());
    CHECK(names.front() == "udt");
    for (const auto& name : names) {
        const auto made = make_congestion_controller(name, {});
        REQUIRE(made.ok());
        CHECK(made.value()->window() > 0);
    }
}

TEST_CASE("factory: an unknown name is an error that names the known ones") {
    const auto made = make_congestion_controller("vegas", {});
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().code == ErrorCode::invalid_argument);
    CHECK(made.error().message.find("vegas") != std::string::npos);
    CHECK(made.error().message.find(" udt") != std::string::npos);
}

TEST_CASE("factory: every controller answers marks as losses") {
    for (const auto& name : congestion_controller_names()) {
        for (const Policy policy : {Policy::fair, Policy::high, Policy::low}) {
            INFO(name << ", policy " << static_cast<int>(policy));
            const auto made = make_congestion_controller(name, {.policy = policy});
            REQUIRE(made.ok());
            // 1 MB/s, 50 ms, marks from a queue of 50 packets, the bandwidth-delay product.
            congestion::Bottleneck path(*made.value(), 1000, std::chrono::milliseconds(50), 50);
            path.mark_instead();
            path.run(std::chrono::seconds(30));
            CHECK(path.marked_packets() > 0);
            CHECK(path.lost_packets() == 0);
            CHECK(path.longest_queue() < 200);
        }
    }
}

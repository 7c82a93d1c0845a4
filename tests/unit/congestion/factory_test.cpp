#include "test/catch.hpp"
#include "udtx/congestion.hpp"

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

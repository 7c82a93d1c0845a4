#include "multipath/scheduler.hpp"

#include "test/catch.hpp"

using udtx::ErrorCode;
using udtx::multipath::make_scheduler;
using udtx::multipath::scheduler_names;

TEST_CASE("every scheduler can be made by its name") {
    REQUIRE_FALSE(scheduler_names().empty());
    for (const auto& name : scheduler_names()) {
        INFO(name);
        const auto made = make_scheduler(name);
        REQUIRE(made);
        CHECK(*made != nullptr);
    }
}

TEST_CASE("an unknown scheduler is refused with the names of the known ones") {
    const auto made = make_scheduler("best");
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::invalid_argument);
    for (const auto& name : scheduler_names()) CHECK(made.error().message.find(name) != std::string::npos);
}

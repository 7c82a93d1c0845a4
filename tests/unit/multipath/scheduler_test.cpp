#include "udtx/scheduler.hpp"

#include "test/catch.hpp"

using udtx::ErrorCode;
using udtx::make_path_scheduler;
using udtx::path_scheduler_names;

TEST_CASE("every scheduler can be made by its name") {
    REQUIRE_FALSE(path_scheduler_names().empty());
    for (const auto& name : path_scheduler_names()) {
        INFO(name);
        const auto made = make_path_scheduler(name);
        REQUIRE(made);
        CHECK(*made != nullptr);
    }
}

TEST_CASE("an unknown scheduler is refused with the names of the known ones") {
    const auto made = make_path_scheduler("best");
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::invalid_argument);
    for (const auto& name : path_scheduler_names()) CHECK(made.error().message.find(name) != std::string::npos);
}

// Checks that tell, when they fail, the scenario's seed and steps.
#pragma once

#include "sim/scenario.hpp"
#include "test/catch.hpp"

#define SIM_REQUIRE(scenario, ...)  \
    do {                            \
        INFO((scenario).history()); \
        REQUIRE(__VA_ARGS__);       \
    } while (false)
#define SIM_CHECK(scenario, ...)    \
    do {                            \
        INFO((scenario).history()); \
        CHECK(__VA_ARGS__);         \
    } while (false)

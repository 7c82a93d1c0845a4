// Checks that print the scenario's seed and steps when they fail. The macro evaluates the expression before it takes
// the history, so that the history shows what the expression did.
#pragma once

#include "sim/scenario.hpp"
#include "test/catch.hpp"

#define SIM_REQUIRE(scenario, ...)                             \
    do {                                                       \
        const bool sim_holds = static_cast<bool>(__VA_ARGS__); \
        INFO(#__VA_ARGS__ << "\n" << (scenario).history());    \
        REQUIRE(sim_holds);                                    \
    } while (false)
#define SIM_CHECK(scenario, ...)                               \
    do {                                                       \
        const bool sim_holds = static_cast<bool>(__VA_ARGS__); \
        INFO(#__VA_ARGS__ << "\n" << (scenario).history());    \
        CHECK(sim_holds);                                      \
    } while (false)

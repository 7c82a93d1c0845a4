#include "proto/first_windows.hpp"

#include <catch2/catch.hpp>

using udtx::TransportConfig;
using udtx::proto::FirstWindows;

TEST_CASE("a lone connection begins with the windows of its configuration") {
    const TransportConfig config;
    const auto windows = FirstWindows::of(config, 1);
    CHECK(windows.connection == config.connection_window);
    CHECK(windows.stream == config.stream_window);
}

TEST_CASE("the windows of many are the same part of both, and never smaller than the least") {
    const TransportConfig config;
    CHECK(FirstWindows::of(config, 10).stream == config.stream_window / 10);
    CHECK(FirstWindows::of(config, 10).connection / 10 == config.connection_window / 100);
    CHECK(FirstWindows::of(config, 1'000'000).stream == 512U << 10U);
    CHECK(FirstWindows::of(config, 1'000'000).connection == 2048U << 10U);
    TransportConfig roomy;
    roomy.least_window = 2U << 20U;
    CHECK(FirstWindows::of(roomy, 1'000'000).stream == 2U << 20U);
    CHECK(FirstWindows::of(roomy, 1'000'000).connection == 8U << 20U);
}

TEST_CASE("a small window stays as it is, and so does one that may not grow") {
    TransportConfig config;
    config.stream_window = 1000;
    CHECK(FirstWindows::of(config, 50).stream == 1000);
    config = {};
    config.max_memory = 0;
    CHECK(FirstWindows::of(config, 50).stream == config.stream_window);
}

#include "udtx/core/endpoint.hpp"

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "test/catch.hpp"

using namespace udtx;
using namespace std::chrono_literals;

TEST_CASE("the default configuration is fine") { CHECK(proto::check({}).ok()); }

TEST_CASE("an unknown controller is named, with those that exist") {
    TransportConfig config;
    config.congestion = "nonsense";
    const auto result = proto::check(config);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::invalid_argument);
    CHECK(result.error().message.find("nonsense") != std::string::npos);
    CHECK(result.error().message.find("udt") != std::string::npos);
}

TEST_CASE("a factory that gives nothing, or fails, is named") {
    TransportConfig config;
    config.congestion_factory = [](const CongestionOptions&) { return nullptr; };
    auto result = proto::check(config);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::invalid_argument);
    CHECK(result.error().message == "TransportConfig: congestion_factory gave no controller");
    config.congestion_factory = {};
    config.scheduler_factory = []() -> std::unique_ptr<PathScheduler> { throw std::runtime_error("none today"); };
    result = proto::check(config);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::invalid_argument);
    CHECK(result.error().message == "TransportConfig: scheduler_factory failed: none today");
}

TEST_CASE("each field out of range is named") {
    using Edit = std::function<void(TransportConfig&)>;
    const std::vector<std::pair<std::string, Edit>> cases{
        {"max_rate", [](TransportConfig& c) { c.max_rate = Rate(); }},
        {"max_rate", [](TransportConfig& c) { c.max_rate = Rate::bits_per_second(std::nan("")); }},
        {"max_receive_rate", [](TransportConfig& c) { c.max_receive_rate = Rate(); }},
        {"max_receive_rate", [](TransportConfig& c) { c.max_receive_rate = Rate::bits_per_second(-1); }},
        {"min_rate",
         [](TransportConfig& c) {
             c.min_rate = Rate::bits_per_second(2e6);
             c.max_rate = Rate::bits_per_second(1e6);
         }},
        {"min_rate must be finite", [](TransportConfig& c) { c.min_rate = Rate::infinite(); }},
        {"'fixed' needs max_rate", [](TransportConfig& c) { c.policy = Policy::fixed; }},
        {"max_paths", [](TransportConfig& c) { c.max_paths = 0; }},
        {"max_paths", [](TransportConfig& c) { c.max_paths = 17; }},
        {"idle_timeout", [](TransportConfig& c) { c.idle_timeout = 0s; }},
        {"handshake_timeout", [](TransportConfig& c) { c.handshake_timeout = -1s; }},
        {"keep_alive", [](TransportConfig& c) { c.keep_alive = -1s; }},
        {"min_datagram", [](TransportConfig& c) { c.min_datagram = 68; }},
        {"min_datagram", [](TransportConfig& c) { c.max_datagram = 1199; }},
        {"max_datagram", [](TransportConfig& c) { c.max_datagram = 65536; }},
        {"stream_window", [](TransportConfig& c) { c.stream_window = 0; }},
        {"max_memory", [](TransportConfig& c) { c.max_memory = kMaxWindowMemory + 1; }},
        {"rekey_after_packets", [](TransportConfig& c) { c.rekey_after_packets = 1ULL << 23U; }},
    };
    for (const auto& [field, edit] : cases) {
        TransportConfig config;
        edit(config);
        const auto result = proto::check(config);
        INFO(field);
        REQUIRE_FALSE(result.ok());
        CHECK(result.error().code == ErrorCode::invalid_argument);
        CHECK(result.error().message.find(field) != std::string::npos);
    }
}

#include "io/path_plan.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "io/listening.hpp"
#include "io/protocol_thread.hpp"
#include "test/catch.hpp"

using namespace udtx;

namespace {

std::vector<Address> local(std::uint16_t port) {
    return *io::peer_addresses("127.0.0.9", port, AddressChoice::any, {});
}

}  // namespace

TEST_CASE("a host without a name is this one, and addresses that are given are not looked up") {
    const auto here = io::peer_addresses("", 7, AddressChoice::v4_only, {});
    REQUIRE(here);
    CHECK(to_string(here->front()) == "127.0.0.1:7");
    const auto given = io::peer_addresses("host.invalid", 0, AddressChoice::any, local(8));
    REQUIRE(given);
    CHECK(to_string(given->front()) == "127.0.0.9:8");
    CHECK_FALSE(io::peer_addresses("127.0.0.9", 0, AddressChoice::any, {}));
}

TEST_CASE("of paths that are all standby the first is none") {
    const std::vector<PathRequest> paths{{.local = "127.0.0.1", .standby = true},
                                         {.local = "127.0.0.2", .standby = true}};
    const auto candidates = io::plan_paths(paths, local(7000), AddressChoice::any, false);
    REQUIRE(candidates);
    REQUIRE(candidates->size() == 2);
    CHECK_FALSE(candidates->front().options.standby);
    CHECK(candidates->back().options.standby);
}

TEST_CASE("why nothing is listened on is told of an address of this host") {
    const std::array<std::byte, Credentials::kPskBytes> key{};
    const auto thread = io::ProtocolThread::make(Credentials::from_psk(key), {});
    const auto other = io::ProtocolThread::make(Credentials::from_psk(key), {});
    REQUIRE((thread && other));
    REQUIRE(io::open_to_listen((*thread)->driver(), "127.0.0.1:0", AddressChoice::any, {}));
    const auto taken = (*thread)->driver().local_address();
    REQUIRE(taken);
    const auto failed = io::open_to_listen((*other)->driver(), to_string(*taken), AddressChoice::any, {});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().system_error == EADDRINUSE);
    CHECK_FALSE(io::open_to_listen((*other)->driver(), "192.0.2.1:0", AddressChoice::any, {}));
    CHECK(io::open_to_listen((*other)->driver(), ":0", AddressChoice::any, {}));
}

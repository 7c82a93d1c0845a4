#include "options/common_options.hpp"

#include "io/path_plan.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port = 0) {
    Address address{.family = Address::Family::v4, .port = port};
    address.ip = {a, b, c, d};
    return address;
}
Address v6(std::uint8_t last, std::uint16_t port = 0) {
    Address address{.family = Address::Family::v6, .port = port};
    address.ip = {0xfd};
    address.ip[15] = last;
    return address;
}

const std::vector<Interface> kInterfaces{
    {"lo", 1, {v4(127, 0, 0, 1)}}, {"wan0", 2, {v4(192, 0, 2, 1), v6(1)}}, {"down0", 3, {}}};

std::string error_of(const std::string& text, const std::vector<Address>& remotes) {
    const auto path = parse_path(text);
    if (!path) return path.error().message;
    const auto plan = io::plan_path(*path, kInterfaces, remotes, AddressChoice::any);
    return plan ? "" : plan.error().message;
}

}  // namespace

TEST_CASE("a path is given once") {
    const auto checked = [](std::vector<std::string> texts) {
        PathOptions paths;
        paths.texts = std::move(texts);
        return paths.check();
    };
    for (const char* again : {"eth0", "eth0,weight=2"}) {
        const auto twice = checked({"eth0", "eth1", again});
        REQUIRE_FALSE(twice.ok());
        CHECK(twice.error().message.find(std::string("--path ") + again + ": this path is given twice") == 0);
    }
    CHECK_FALSE(checked({"eth0,10.0.0.1", "eth0,10.0.0.1"}).ok());
    CHECK(checked({"eth0,10.0.0.1", "eth0,10.0.0.2", "eth0", "eth1"}).ok());
}

TEST_CASE("a path that is not there is an error at first, and after an outage it may come back") {
    PathOptions paths;
    paths.texts = {"nosuch0", "127.0.0.1", "127.0.0.2"};
    paths.failover = true;
    REQUIRE(paths.check().ok());
    transfer::PeerOptions connection;
    connection.addresses = {v4(127, 0, 0, 9, 7000)};
    const auto first = paths.apply(connection);
    REQUIRE_FALSE(first.ok());
    CHECK(first.error().code == ErrorCode::invalid_argument);
    CHECK(first.error().message.find("--path nosuch0: ") == 0);
    REQUIRE(paths.apply(connection, true));
    CHECK(connection.skip_absent_paths);
    REQUIRE(connection.paths.size() == 3);
    CHECK_FALSE(connection.paths[0].standby);
    CHECK(connection.paths[1].standby);
}

TEST_CASE("messages name the hosts to connect to") {
    const auto targets = [](std::vector<std::string> texts) {
        PathOptions paths;
        paths.texts = std::move(texts);
        REQUIRE(paths.check().ok());
        Url url;
        url.host = "big.example";
        url.port = 7000;
        return paths.targets(url);
    };
    CHECK(targets({}) == "big.example:7000/udp");
    CHECK(targets({"eth0", "eth1,weight=2"}) == "big.example:7000/udp");
    CHECK(targets({"eth0", "eth1,fd00::1", "eth2,fd00::1"}) == "big.example:7000/udp, [fd00::1]:7000/udp");
}

TEST_CASE("--path is LOCAL[,REMOTE][,weight=N]") {
    const auto whole = parse_path("wan0,203.0.113.9,weight=2.5");
    REQUIRE(whole);
    CHECK(whole->local == "wan0");
    CHECK(whole->remote == "203.0.113.9");
    CHECK(whole->weight == 2.5);
    const auto weighted = parse_path("fd00::1,weight=3");
    REQUIRE(weighted);
    CHECK(weighted->remote.empty());
    CHECK(weighted->weight == 3.0);
    for (const char* wrong : {"", ",x", "a,", "a,b,c", "a,weight=", "a,weight=0", "a,weight=-1", "a,weight=nan",
                              "a,weight=1,weight=2", "a,weight=2x", "a,weight=1,b"}) {
        CHECK_FALSE(parse_path(wrong));
    }
}

TEST_CASE("a path goes from an address of this host to one of the same family") {
    const std::vector<Address> both{v6(9, 7011), v4(203, 0, 113, 9, 7011)};
    const auto plan = [&](const char* text, const std::vector<Address>& remotes) {
        return io::plan_path(*parse_path(text), kInterfaces, remotes, AddressChoice::any);
    };
    const auto by_name = plan("wan0", both);
    REQUIRE(by_name);
    CHECK(by_name->local == v6(1));
    CHECK(by_name->remote == both[0]);
    CHECK(by_name->options.interface_index == 2);
    const auto by_address = plan("192.0.2.1,weight=2", both);
    REQUIRE(by_address);
    CHECK(by_address->remote == both[1]);
    CHECK(by_address->options.interface_index == 0);
    CHECK(by_address->options.weight == 2.0);
    const auto loopback = plan("127.0.0.77", {v4(127, 0, 0, 1, 5)});
    REQUIRE(loopback);
    CHECK(loopback->local == v4(127, 0, 0, 77));
    const auto elsewhere = plan("192.0.2.1,198.51.100.7", both);
    REQUIRE(elsewhere);
    CHECK(elsewhere->remote == v4(198, 51, 100, 7, 7011));
}

TEST_CASE("what is wrong with a path is said, with the interfaces that there are") {
    const std::vector<Address> v4_only{v4(203, 0, 113, 9, 7011)};
    CHECK(error_of("wan7", v4_only).find("interfaces here: lo, wan0, down0") != std::string::npos);
    CHECK(error_of("192.0.2.200", v4_only).find("interfaces here") != std::string::npos);
    CHECK(error_of("down0", v4_only).find("no address") != std::string::npos);
    CHECK(error_of("fd00::1", v4_only).find("name one as fd00::1,ADDRESS") != std::string::npos);
    CHECK(error_of("fd00::1,192.0.2.9", v4_only) == "fd00::1,192.0.2.9: one end is IPv4 and the other is IPv6");
    CHECK(error_of("wan0,192.0.2.9:7011", v4_only).find("leave the port out") != std::string::npos);
    CHECK(error_of("wan0,wieght=2", v4_only).find("'wieght=2' is not understood") != std::string::npos);
}

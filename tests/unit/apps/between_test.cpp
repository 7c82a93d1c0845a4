#include "doctor/doctor.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

PathProbe blocked(bool heard) {
    PathProbe probe;
    probe.error = Error{ErrorCode::udp_blocked, "blocked"};
    probe.heard = heard;
    return probe;
}

PathProbe passed(std::size_t datagram_bytes) {
    PathProbe probe;
    probe.handshake = 10ms;
    probe.stats.emplace();
    PathStats path;
    path.remote.family = Address::Family::v4;
    path.datagram_bytes = static_cast<decltype(path.datagram_bytes)>(datagram_bytes);
    probe.stats->paths.push_back(path);
    return probe;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("where datagrams do not come, ports are opened there, before a rule that drops the rest") {
    const auto findings = examine_between(blocked(false), "far", {61000, 61010});
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().code == ExitCode::udp_blocked);
    CHECK(has(findings.front().remedy, "fix on far with: sudo ufw allow 61000:61010/udp"));
    CHECK(has(findings.front().remedy, "nft insert rule inet filter input udp dport 61000-61010 accept"));
}

TEST_CASE("where answers do not come back, both ends may be the cause") {
    const auto findings = examine_between(blocked(true), "far", {});
    REQUIRE(findings.size() == 1);
    const std::string& remedy = findings.front().remedy;
    CHECK(has(remedy, "out on far with: sudo nft insert rule inet filter output ct state established,related accept"));
    CHECK(has(remedy, "in here with: sudo nft insert rule inet filter input ct state established,related accept"));
}

TEST_CASE("a small path MTU is the tunnel's on the way, or that of the interface here") {
    PathProbe probe = passed(1300);
    CHECK(has(examine_between(probe, "far", {}).at(1).what, "larger packets are lost on the path"));
    probe.interface = LocalInterface{"eth0", 1500};
    CHECK(has(examine_between(probe, "far", {}).at(1).what, "larger packets are lost on the path"));
    probe.interface = LocalInterface{"wg0", 1328};
    const Finding finding = examine_between(probe, "far", {}).at(1);
    CHECK_FALSE(finding.good);
    CHECK(has(finding.what, "path MTU: 1328 (datagrams of 1,300 bytes pass), the MTU of wg0 here is 1,328"));
    CHECK(has(finding.remedy, "ip link set wg0 mtu 1500"));
    probe.interface = LocalInterface{"wg0", 1380};  // small, but not the limit of the path
    CHECK(has(examine_between(probe, "far", {}).at(1).what, "larger packets are lost on the path"));
    CHECK(examine_between(passed(1452), "far", {}).at(1).good);
}

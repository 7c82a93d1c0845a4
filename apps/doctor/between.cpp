#include "doctor/between.hpp"

#include "common/local_link.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

/// Example ports if the user named none: the first of the range that mosh uses.
constexpr PortRange kExamplePorts{60000, 60010};
/// MTU that remains of kUsualMtu after the encapsulation of one tunnel.
constexpr unsigned kTunnelMtu = 1400;
constexpr unsigned kSearchStep = 32;  // bytes by which the search for the largest datagram may stay below the MTU
constexpr Duration kClocksApart = std::chrono::seconds(1);

std::string open_ports(PortRange ports) {
    const std::string first = std::to_string(ports.first);
    const std::string last = std::to_string(ports.last);
    return "sudo ufw allow " + first + ":" + last + "/udp, or sudo firewall-cmd --add-port=" + first + "-" + last +
           "/udp, or sudo nft insert rule inet filter input udp dport " + first + "-" + last +
           " accept, and in a cloud its security group; then give -O " + first + "-" + last;
}

Finding blocked(const PathProbe& probe, const std::string& host, PortRange ports) {
    const ExitCode code = exit_code_for(probe.error->code);
    Finding finding{false, probe.error->message, "", code};
    if (code != ExitCode::udp_blocked) return finding;
    if (!probe.heard) {
        finding.remedy = "fix on " + host + " with: " + open_ports(ports.first == 0 ? kExamplePorts : ports);
        return finding;
    }
    // This end cannot find out where answers are dropped, so each end must let its part through.
    const std::string answers = " ct state established,related accept";
    finding.remedy = "let answers out on " + host + " with: sudo nft insert rule inet filter output" + answers +
                     "; in here with: sudo nft insert rule inet filter input" + answers +
                     "; in a cloud by its security groups";
    return finding;
}

Finding largest_packet(const PathStats& path, const std::optional<LocalLink>& link) {
    const bool v6 = path.remote.family == Address::Family::v6;
    const unsigned mtu = path.datagram_bytes + (v6 ? 48 : 28);
    Finding finding{mtu >= kTunnelMtu, "path MTU: " + std::to_string(mtu) + " (datagrams of " +
                                           format_count(path.datagram_bytes) + " bytes pass)"};
    if (finding.good) return finding;
    if (link && link->mtu < kTunnelMtu && link->mtu <= mtu + kSearchStep) {
        finding.what += ", the MTU of " + link->name + " here is " + format_count(link->mtu);
        finding.remedy = "raise it, unless it is a tunnel over a link with this limit: sudo ip link set " + link->name +
                         " mtu " + std::to_string(kUsualMtu);
        return finding;
    }
    finding.what += ", larger packets are lost on the path";
    finding.remedy = "raise the MTU of the tunnel on the path: sudo ip link set DEV mtu " + std::to_string(kUsualMtu) +
                     "; a firewall there should let ICMP \"packet too big\" through";
    return finding;
}

Finding clocks(Duration ahead, const std::string& host) {
    const Duration apart = std::chrono::abs(ahead);
    if (apart < kClocksApart) return {true, "clocks: less than 1 s apart"};
    return {false,
            "clocks: that of " + host + " is " + format_elapsed(apart) + (ahead > Duration() ? " ahead" : " behind"),
            "fix on the host whose clock is wrong with: sudo timedatectl set-ntp true"};
}

}  // namespace

std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports) {
    std::vector<Finding> findings;
    if (probe.error) {
        findings.push_back(blocked(probe, host, ports));
    } else if (probe.handshake) {
        findings.push_back({true, "UDP passes both ways: handshake " + format_milliseconds(*probe.handshake)});
    }
    if (!probe.error && probe.stats && !probe.stats->paths.empty()) {
        findings.push_back(largest_packet(probe.stats->paths.front(), probe.link));
    }
    if (probe.clock_ahead) findings.push_back(clocks(*probe.clock_ahead, host));
    return findings;
}

}  // namespace udtx::apps

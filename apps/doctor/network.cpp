#include "doctor/network.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "common/local_link.hpp"
#include "common/units.hpp"
#include "io/socket_setup.hpp"
#include "io/udp_offload.hpp"

namespace udtx::apps {
namespace {

constexpr unsigned kLeastMtu = 1280;

std::size_t buffer_of(int fd, int name) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    if (::getsockopt(fd, SOL_SOCKET, name, &bytes, &length) != 0 || bytes < 0) return 0;
#ifdef __linux__
    bytes /= 2;  // it shows twice what is usable
#endif
    return static_cast<std::size_t>(bytes);
}

Finding examine_buffers(const io::BoundSocket& socket) {
    const auto kib = [&](int name) { return format_count(buffer_of(socket.fd.get(), name) / 1024) + " KiB"; };
    Finding finding{socket.buffer_advice.empty(), "UDP buffers: receive " + kib(SO_RCVBUF) + ", send " + kib(SO_SNDBUF),
                    ""};
    // The advice ends with the commands.
    const std::size_t commands = socket.buffer_advice.find("mend with: ");
    if (commands != std::string::npos) finding.remedy = "mend with: sudo " + socket.buffer_advice.substr(commands + 11);
    return finding;
}

Finding examine_offload(const io::BoundSocket& socket, int name, int value, const char* what) {
    const bool good = io::set_option(socket.fd.get(), IPPROTO_UDP, name, value);
    return {good, std::string(what) + (good ? ": the kernel has it" : ": the kernel does not have it"),
            good ? "" : "a kernel of 5.0 or later has it; without, a processor moves some 2 Gbit/s"};
}

void examine_interfaces(std::vector<Finding>& findings) {
    std::error_code none;
    for (std::filesystem::directory_iterator at("/sys/class/net", none), end; at != end; at.increment(none)) {
        const std::filesystem::path path = at->path();
        const std::string name = path.filename().string();
        std::ifstream state_file(path / "operstate");
        std::string state;
        state_file >> state;
        const auto mtu = mtu_of(name);
        if (!mtu || state == "down") continue;
        Finding finding{*mtu >= kLeastMtu, "MTU of " + name + ": " + std::to_string(*mtu), ""};
        if (!finding.good)
            finding.remedy = "below 1280 udtx does not pass; mend with: sudo ip link set " + name + " mtu 1500";
        if (finding.good && *mtu < kUsualMtu) finding.what += " (less than usual: a tunnel?)";
        findings.push_back(std::move(finding));
    }
}

}  // namespace

std::vector<Finding> examine_network() {
    std::vector<Finding> findings;
    Address loopback;
    loopback.family = Address::Family::v4;
    loopback.ip[0] = 127;
    loopback.ip[3] = 1;
    const auto socket = io::make_bound_socket(loopback, {});
    if (!socket) return {{false, socket.error().message, ""}};
    findings.push_back(examine_buffers(*socket));
#ifdef __linux__
    findings.push_back(examine_offload(*socket, UDP_SEGMENT, 1400, "UDP segmentation offload (GSO)"));
    io::set_option(socket->fd.get(), IPPROTO_UDP, UDP_SEGMENT, 0);
    findings.push_back(examine_offload(*socket, UDP_GRO, 1, "UDP receive offload (GRO)"));
    examine_interfaces(findings);
#endif
    return findings;
}

}  // namespace udtx::apps

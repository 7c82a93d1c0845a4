#include "doctor/network.hpp"

#include <filesystem>
#include <fstream>

#include "common/local_link.hpp"
#include "common/units.hpp"
#include "udtx/diagnosis.hpp"

namespace udtx::apps {
namespace {

constexpr unsigned kLeastMtu = 1280;

Finding examine_buffers(const UdpSupport& udp) {
    const auto kib = [](std::size_t bytes) { return format_count(bytes / 1024) + " KiB"; };
    return {udp.buffer_commands.empty(),
            "UDP buffers: receive " + kib(udp.receive_buffer) + ", send " + kib(udp.send_buffer),
            udp.buffer_commands.empty() ? "" : "fix with: sudo " + udp.buffer_commands};
}

Finding examine_offload(bool good, const char* what) {
    return {good, std::string(what) + (good ? ": the kernel has it" : ": the kernel does not have it"),
            good ? "" : "use Linux 5.0 or later; without it one processor reaches about 2 Gbit/s"};
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
        if (!finding.good) finding.remedy = "udtx needs 1280; fix with: sudo ip link set " + name + " mtu 1500";
        if (finding.good && *mtu < kUsualMtu) finding.what += " (less than usual: a tunnel?)";
        findings.push_back(std::move(finding));
    }
}

}  // namespace

std::vector<Finding> examine_network() {
    std::vector<Finding> findings;
    const auto udp = examine_udp();
    if (!udp) return {{false, udp.error().message, ""}};
    findings.push_back(examine_buffers(*udp));
#ifdef __linux__
    findings.push_back(examine_offload(udp->segmentation_offload, "UDP segmentation offload (GSO)"));
    findings.push_back(examine_offload(udp->receive_offload, "UDP receive offload (GRO)"));
    examine_interfaces(findings);
#endif
    return findings;
}

}  // namespace udtx::apps

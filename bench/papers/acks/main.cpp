// udtx-papers-acks: one transfer over a link with a narrow return path, with ns-3's TCP or with udtx. Prints one JSON
// object.
#include <ns3/boolean.h>
#include <ns3/bulk-send-application.h>
#include <ns3/config.h>
#include <ns3/double.h>
#include <ns3/enum.h>
#include <ns3/error-model.h>
#include <ns3/inet-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-address-helper.h>
#include <ns3/ipv4-global-routing-helper.h>
#include <ns3/packet-sink-helper.h>
#include <ns3/packet-sink.h>
#include <ns3/point-to-point-net-device.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "acks/relay.hpp"
#include "line.hpp"
#include "ns3_host.hpp"
#include "sim/apps.hpp"
#include "sim/crypto_kit.hpp"

namespace udtx::papers {
namespace {

constexpr std::uint16_t kPort = 9000;

/// The paper's link parameters are lost. At 3.5 Mbit/s the gains match those that it prints. A queue of 200 packets
/// holds the end of slow start; in a smaller one the overflow hides the effect of the acknowledgements.
struct Options {
    std::string scheme = "normal";
    double down_mbps = 3.5;
    double up_kbps = 8.0;
    double delay_ms = 50.0;
    double bit_errors = 0.0;
    std::uint32_t segment = 1000;
    std::uint32_t down_queue = 200;
    std::uint32_t up_queue = 20;
    double seconds = 50.0;
    std::uint64_t seed = 1;
};

/// Four nodes in a chain: sender, its router, the receiver's router, receiver.
class Run {
  public:
    explicit Run(const Options& options) : options_(options) {
        ns3::RngSeedManager::SetRun(options.seed);
        nodes_.Create(4);
        ns3::InternetStackHelper().Install(nodes_);
        build();
        ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        if (options.scheme == "udtx") {
            add_udtx();
        } else {
            add_tcp();
        }
    }

    void run() {
        for (int s = 1; s <= static_cast<int>(options_.seconds); ++s)
            ns3::Simulator::Schedule(ns3::Seconds(s), &Run::sample, this);
        ns3::Simulator::Stop(ns3::Seconds(options_.seconds) + ns3::MicroSeconds(1));
        ns3::Simulator::Run();
        const std::uint64_t bytes = received();
        std::printf(
            "{\"scheme\": \"%s\", \"down_mbps\": %g, \"up_kbps\": %g, \"bit_errors\": %g, \"seed\": %llu, "
            "\"goodput_kbps\": %.2f, "
            "\"acks\": %llu, \"made\": %llu, \"overtaken\": %llu, \"acks_each_second\": [",
            options_.scheme.c_str(), options_.down_mbps, options_.up_kbps, options_.bit_errors,
            static_cast<unsigned long long>(options_.seed), static_cast<double>(bytes) * 8e-3 / options_.seconds,
            static_cast<unsigned long long>(relay_ ? relay_->acks() : 0),
            static_cast<unsigned long long>(relay_ ? relay_->made() : 0),
            static_cast<unsigned long long>(relay_ ? relay_->overtaken() : 0));
        for (std::size_t i = 0; i < samples_.size(); ++i)
            std::printf("%s%llu", i == 0 ? "" : ", ", static_cast<unsigned long long>(samples_[i]));
        std::printf("]}\n");
        ns3::Simulator::Destroy();
    }

  private:
    void build() {
        const auto near = add_line({nodes_.Get(0), nodes_.Get(1)}, 100.0, 1.0, 1000);
        narrow_ = add_line({nodes_.Get(1), nodes_.Get(2)}, options_.down_mbps, options_.delay_ms, options_.down_queue);
        const auto far = add_line({nodes_.Get(2), nodes_.Get(3)}, 100.0, 1.0, 1000);
        const auto up = ns3::DynamicCast<ns3::PointToPointNetDevice>(narrow_.Get(1));
        up->SetDataRate(ns3::DataRate(static_cast<std::uint64_t>(options_.up_kbps * 1e3)));
        const bool filter = options_.scheme == "ar" || options_.scheme == "dar";
        if (filter) {
            const auto queue = ns3::CreateObject<AckFilterQueue>();
            queue->SetMaxSize(ns3::QueueSize(std::to_string(options_.up_queue) + "p"));
            up->SetQueue(queue);
        } else {
            up->GetQueue()->SetMaxSize(ns3::QueueSize(std::to_string(options_.up_queue) + "p"));
        }
        for (std::uint32_t i = 0; i < 2 && options_.bit_errors > 0.0; ++i) {
            const auto errors = ns3::CreateObject<ns3::RateErrorModel>();
            errors->SetUnit(ns3::RateErrorModel::ERROR_UNIT_BIT);
            errors->SetRate(options_.bit_errors);
            ns3::DynamicCast<ns3::PointToPointNetDevice>(narrow_.Get(i))->SetReceiveErrorModel(errors);
        }
        ns3::Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
        sender_ = addresses.Assign(near).GetAddress(0);
        addresses.SetBase("10.1.2.0", "255.255.255.0");
        addresses.Assign(narrow_);
        addresses.SetBase("10.1.3.0", "255.255.255.0");
        receiver_ = addresses.Assign(far).GetAddress(1);
        if (options_.scheme == "udtx") return;
        const Scheme scheme = options_.scheme == "dar"  ? Scheme::dar
                              : options_.scheme == "ar" ? Scheme::ar
                                                        : Scheme::normal;
        relay_ = std::make_unique<AckRelay>(scheme, options_.segment);
        relay_->attach(nodes_.Get(1), near.Get(1), narrow_.Get(0));
    }

    void add_tcp() {
        const ns3::InetSocketAddress to(receiver_, kPort);
        sink_ = ns3::DynamicCast<ns3::PacketSink>(
            ns3::PacketSinkHelper("ns3::TcpSocketFactory", to).Install(nodes_.Get(3)).Get(0));
        const auto source = ns3::CreateObject<ns3::BulkSendApplication>();
        source->SetAttribute("Protocol", ns3::StringValue("ns3::TcpSocketFactory"));
        source->SetAttribute("Remote", ns3::AddressValue(to));
        source->SetAttribute("SendSize", ns3::UintegerValue(options_.segment));
        source->SetStartTime(ns3::MilliSeconds(static_cast<std::int64_t>(options_.seed % 50)));
        nodes_.Get(0)->AddApplication(source);
    }

    sim::HostSetup host(const char* name, ns3::Ipv4Address at, std::uint64_t part) {
        sim::HostSetup setup;
        setup.name = name;
        setup.address = address_of(at, kPort);
        setup.seed = options_.seed * 2 + part;
        setup.provider = &crypto_.provider();
        setup.handshakes = &crypto_.handshakes();
        setup.config.min_datagram = setup.config.max_datagram = 1472;
        return setup;
    }

    void add_udtx() {
        taker_ = std::make_shared<sim::Receiver>();
        const auto listen = [this](Ns3Host& h) { h.listen(1, [this](proto::Connection&) { return taker_; }); };
        nodes_.Get(3)->AddApplication(ns3::CompleteConstruct(new Ns3Host(host("receiver", receiver_, 0), {}, listen)));
        const Address to = address_of(receiver_, kPort);
        const auto connect = [to](Ns3Host& h) {
            h.connect(to, std::make_shared<sim::Sender>(sim::Sender::Options{.bytes = 1ULL << 40U}));
        };
        nodes_.Get(0)->AddApplication(ns3::CompleteConstruct(new Ns3Host(host("sender", sender_, 1), {}, connect)));
    }

    [[nodiscard]] std::uint64_t received() const { return taker_ ? taker_->received() : sink_->GetTotalRx(); }

    void sample() {
        const std::uint64_t now = relay_ ? relay_->acks() : 0;
        samples_.push_back(now - seen_);
        seen_ = now;
    }

    Options options_;
    sim::CryptoKit crypto_;
    ns3::NodeContainer nodes_;
    ns3::NetDeviceContainer narrow_;
    ns3::Ipv4Address sender_;
    ns3::Ipv4Address receiver_;
    std::unique_ptr<AckRelay> relay_;
    ns3::Ptr<ns3::PacketSink> sink_;
    std::shared_ptr<sim::Receiver> taker_;
    std::vector<std::uint64_t> samples_;
    std::uint64_t seen_ = 0;
};

/// TCP as it was when the paper was written: no selective acknowledgements, no timestamps.
void set_tcp(const Options& options) {
    ns3::Config::SetDefault("ns3::TcpL4Protocol::SocketType", ns3::StringValue("ns3::TcpNewReno"));
    ns3::Config::SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(options.segment));
    ns3::Config::SetDefault("ns3::TcpSocketBase::Sack", ns3::BooleanValue(false));
    ns3::Config::SetDefault("ns3::TcpSocketBase::Timestamp", ns3::BooleanValue(false));
}

}  // namespace
}  // namespace udtx::papers

int main(int argc, char** argv) try {
    udtx::papers::Options options;
    CLI::App app("One transfer over a link with a narrow reverse path, in ns-3");
    app.add_option("--scheme", options.scheme)->check(CLI::IsMember({"normal", "ar", "dar", "udtx"}));
    app.add_option("--down-mbps", options.down_mbps);
    app.add_option("--up-kbps", options.up_kbps);
    app.add_option("--delay-ms", options.delay_ms, "one way");
    app.add_option("--bit-errors", options.bit_errors);
    app.add_option("--segment", options.segment);
    app.add_option("--down-queue", options.down_queue, "packets");
    app.add_option("--up-queue", options.up_queue, "packets");
    app.add_option("--seconds", options.seconds);
    app.add_option("--seed", options.seed);
    CLI11_PARSE(app, argc, argv);
    udtx::papers::set_tcp(options);
    udtx::papers::Run(options).run();
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "udtx-papers-acks: %s\n", error.what());
    return 1;
}

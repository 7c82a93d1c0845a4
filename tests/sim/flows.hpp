// Many flows through one shared bottleneck: the rig that judges congestion control.
//
//     FlowRig rig({.name = "late-comer", .bits_per_second = 100'000'000, .rtt = 100ms, .queue_bdp = 1.0,
//                  .flows = {{.cc = "cubic"}, {.cc = "bbr", .start = 5s, .rtt = 20ms}}});
//     rig.run_for(30s);
//     CHECK(rig.jain(20s, 30s) > 0.95);
//
// Each flow is a separate connection between two separate hosts, with its own controller, round-trip time and start.
// All data passes the bottleneck (drop-tail, random loss before the queue). Acknowledgements return without delay or
// loss, unless the return link has a rate. Times count from the start of the run. The rig takes a sample every kSample;
// all figures over [from, to) come from those samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/apps.hpp"
#include "sim/crypto_kit.hpp"
#include "sim/event_queue.hpp"
#include "sim/network.hpp"
#include "sim/sim_host.hpp"
#include "udtx/config.hpp"

namespace udtx::sim {

/// Use this instead of a controller's name for a TCP flow with the BBR of the Linux kernel (sim/tcp_flow.hpp).
inline constexpr const char* kTcpBbr = "tcp-bbr";

struct FlowSpec {
    std::string cc = "udt";  ///< or kTcpBbr
    Duration start{};
    std::optional<Duration> stop{};    ///< time at which the connection is closed
    Duration rtt{};                    ///< zero: use the rig's round-trip time
    std::uint64_t bytes = 0;           ///< 0: sends until the end
    TransportConfig config{};          ///< `congestion` is overwritten by `cc`; policy and rates go here
    proto::Experiment experiment{};    ///< at both ends
    std::optional<KnownPath> known{};  ///< recalled once connected
};

/// Unacknowledged datagrams at a constant rate, alternately on and off.
struct CrossTraffic {
    std::uint64_t bits_per_second = 0;  ///< rate while on, headers included; 0: no cross traffic
    Duration from = std::chrono::seconds(5);
    Duration on = std::chrono::seconds(2);
    Duration off = std::chrono::seconds(1);  ///< zero: never off
};

/// The return link, which the acknowledgements of all flows share.
struct ReturnLine {
    std::uint64_t bits_per_second = 0;  ///< 0: infinite
    std::uint64_t queue_bytes = 20'000;
    double loss = 0.0;
};

struct FlowRigSetup {
    std::string name;
    std::uint64_t seed = 1;
    std::uint64_t bits_per_second = 100'000'000;
    Duration rtt = std::chrono::milliseconds(100);  ///< propagation delay, both directions together
    double queue_bdp = 1.0;                         ///< in units of rate x rtt
    std::uint64_t queue_bytes = 0;                  ///< instead of queue_bdp when not 0
    double loss = 0.0;
    Duration jitter{};
    Duration jitter_hold{};  ///< LinkParams::jitter_hold
    /// Rate of each sender's own link to the bottleneck; 0: infinite. On an infinite link, packet pairs reach the queue
    /// without a gap and no cross traffic gets between them.
    std::uint64_t access_bits_per_second = 0;
    std::vector<FlowSpec> flows;
    CrossTraffic cross{};
    HostNoise noise{};  ///< at both hosts of every flow
    Coalescing card{};  ///< at the receiver of every flow
    ReturnLine back{};
    bool shared_key = false;  ///< Both ends of every flow share the hello key: the handshake takes one round trip less.
};

/// State of one flow at one moment. The counters count from the flow's start.
struct FlowSample {
    std::uint64_t received = 0;  ///< stream bytes
    std::uint64_t sent_packets = 0;
    std::uint64_t lost_packets = 0;
    std::uint64_t window = 0;  ///< bytes
    std::uint64_t in_flight = 0;
    double pacing_bps = 0.0;
    double mtr_bps = 0.0;
    double congestion_degree = 0.0;
    Duration smoothed_rtt{};
    bool slow_start = false;
};

struct RigSample {
    std::uint64_t queue_bytes = 0;
    Duration queue_delay{};
    std::uint64_t line_bits = 0;  ///< bits that passed the bottleneck, headers included
    std::uint64_t offered = 0;    ///< packets that reached the queue; random losses happen before it
    std::uint64_t dropped = 0;    ///< offered packets that did not fit
    std::vector<FlowSample> flows;
};

struct QueueDelay {
    Duration mean{};
    Duration p95{};
    Duration max{};
};

/// Seeds 1 to n, or only 1 in builds that sanitizers slow down.
[[nodiscard]] std::vector<std::uint64_t> some_seeds(std::uint64_t n);

/// One figure over several seeds. The result of a single run may be chance.
struct Spread {
    double least = 0.0;
    double median = 0.0;
    double most = 0.0;
};

[[nodiscard]] Spread spread(std::vector<double> values);

class FlowRig {
  public:
    static constexpr Duration kSample = std::chrono::milliseconds(10);

    explicit FlowRig(FlowRigSetup setup);
    ~FlowRig();
    FlowRig(const FlowRig&) = delete;
    FlowRig& operator=(const FlowRig&) = delete;

    void run_for(Duration time);
    /// Schedules a change during the run: `rig.at(10s, [&] { rig.bottleneck().change(...); })`.
    void at(Duration when, std::function<void()> action);
    /// Adds a path to a running flow, through the same links.
    void add_path(std::size_t flow);
    [[nodiscard]] Link& bottleneck() noexcept { return *bottleneck_; }
    [[nodiscard]] Link& return_line() noexcept { return *return_line_; }
    [[nodiscard]] Duration elapsed() const noexcept { return events_.now() - kStart; }
    [[nodiscard]] std::size_t flow_count() const noexcept { return setup_.flows.size(); }
    [[nodiscard]] const FlowRigSetup& setup() const noexcept { return setup_; }

    /// Stream bytes handed to the receiver, per time.
    [[nodiscard]] Rate goodput(std::size_t flow, Duration from, Duration to) const;
    [[nodiscard]] Rate goodput(Duration from, Duration to) const;  ///< of all flows together
    /// Used part of the bottleneck's capacity, headers and cross traffic included.
    [[nodiscard]] double utilisation(Duration from, Duration to) const;
    /// Jain's index (sum x)^2 / (n sum x^2) over the flows that run during all of [from, to).
    [[nodiscard]] double jain(Duration from, Duration to) const;
    /// Mean of the flow's estimate of the bottleneck's rate, bits/s.
    [[nodiscard]] double mean_mtr(std::size_t flow, Duration from, Duration to) const;
    [[nodiscard]] QueueDelay queue_delay(Duration from, Duration to) const;
    /// Packets that the sender declared lost, as a part of those sent.
    [[nodiscard]] double loss(std::size_t flow, Duration from, Duration to) const;
    /// Packets dropped by the full queue, as a part of those that reached it.
    [[nodiscard]] double drops(Duration from, Duration to) const;
    /// Time from a flow's start until its last byte was acknowledged. Only for a flow with a size. A TCP flow's time is
    /// that of a sample.
    [[nodiscard]] std::optional<Duration> completed(std::size_t flow) const;

    [[nodiscard]] const std::vector<RigSample>& samples() const noexcept { return samples_; }
    [[nodiscard]] PathStats stats(std::size_t flow) const;
    /// The sender's connection, which holds the controller. Null before the start and after the end.
    [[nodiscard]] proto::Connection* connection(std::size_t flow) const;
    /// A row of figures for each flow and one for the bottleneck, over [from, to); for INFO() and the command line.
    [[nodiscard]] std::string table(Duration from, Duration to) const;

  private:
    struct Flow;
    class CrossSource;

    void add_flow(const FlowSpec& spec);
    void add_tcp_flow(Flow& flow, std::size_t index);
    void connect(NodeId source, NodeId sink, Duration rtt, const std::string& name);
    void start_flow(Flow& flow);
    void sample();
    [[nodiscard]] FlowSample flow_sample(std::size_t flow) const;
    [[nodiscard]] const RigSample& sample_at(Duration time) const;
    [[nodiscard]] bool active(const FlowSpec& spec, Duration from, Duration to) const;

    FlowRigSetup setup_;
    EventQueue events_;
    Network network_;
    Link* bottleneck_ = nullptr;
    Link* return_line_ = nullptr;
    std::vector<std::unique_ptr<Flow>> flows_;
    std::unique_ptr<CrossSource> cross_;
    std::vector<RigSample> samples_;
};

}  // namespace udtx::sim

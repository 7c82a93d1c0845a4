// Many flows through one shared bottleneck: what congestion control is judged by.
//
//     FlowRig rig({.name = "late-comer", .bits_per_second = 100'000'000, .rtt = 100ms, .queue_bdp = 1.0,
//                  .flows = {{.cc = "cubic"}, {.cc = "bbr", .start = 5s, .rtt = 20ms}}});
//     rig.run_for(30s);
//     CHECK(rig.jain(20s, 30s) > 0.95);
//
// Each flow is a connection of its own between two hosts of its own, with its own controller, round-trip time and
// start. All data passes the bottleneck (drop-tail, random loss before the queue); acknowledgements come back
// unhindered, unless the way back is given a rate. Times count from the start of the run. Every kSample the rig takes a
// sample; all figures over [from, to) come from those.
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

/// In place of a controller's name: a TCP flow with the BBR of the Linux kernel (sim/tcp_flow.hpp).
inline constexpr const char* kTcpBbr = "tcp-bbr";

struct FlowSpec {
    std::string cc = "udt";  ///< or kTcpBbr
    Duration start{};
    std::optional<Duration> stop{};  ///< the connection is closed then
    Duration rtt{};                  ///< zero: the rig's
    std::uint64_t bytes = 0;         ///< 0: sends until the end
    TransportConfig config{};        ///< `congestion` is overwritten by `cc`; policy and rates go here
    proto::Experiment experiment{};  ///< at both ends
};

/// Datagrams at a constant rate that nobody acknowledges, on and off in turn.
struct CrossTraffic {
    std::uint64_t bits_per_second = 0;  ///< while on, headers included; 0: none
    Duration from = std::chrono::seconds(5);
    Duration on = std::chrono::seconds(2);
    Duration off = std::chrono::seconds(1);  ///< zero: never off
};

/// What all flows' acknowledgements pass together.
struct ReturnLine {
    std::uint64_t bits_per_second = 0;  ///< 0: infinite
    std::uint64_t queue_bytes = 20'000;
    double loss = 0.0;
};

struct FlowRigSetup {
    std::string name;
    std::uint64_t seed = 1;
    std::uint64_t bits_per_second = 100'000'000;
    Duration rtt = std::chrono::milliseconds(100);  ///< propagation, there and back
    double queue_bdp = 1.0;                         ///< in units of rate x rtt
    std::uint64_t queue_bytes = 0;                  ///< instead of queue_bdp when not 0
    double loss = 0.0;
    Duration jitter{};
    Duration jitter_hold{};  ///< LinkParams::jitter_hold
    /// Of each sender's own line to the bottleneck; 0: infinite. On an infinite one packet pairs reach the queue
    /// without a gap, and no cross traffic gets between them.
    std::uint64_t access_bits_per_second = 0;
    std::vector<FlowSpec> flows;
    CrossTraffic cross{};
    HostNoise noise{};  ///< of every flow's two hosts
    Coalescing card{};  ///< of every flow's receiver
    ReturnLine back{};
    bool shared_key = false;  ///< of both ends of every flow: the handshake takes a round trip less
};

/// State of one flow at one moment; counters since its start.
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
    std::uint64_t line_bits = 0;  ///< passed the bottleneck, headers included
    std::uint64_t offered = 0;    ///< packets that reached the queue (random losses are not among them)
    std::uint64_t dropped = 0;    ///< of those, packets that did not fit
    std::vector<FlowSample> flows;
};

struct QueueDelay {
    Duration mean{};
    Duration p95{};
    Duration max{};
};

/// 1 to n; in builds that sanitizers slow down only 1.
[[nodiscard]] std::vector<std::uint64_t> some_seeds(std::uint64_t n);

/// Of one figure over several seeds: a single run is chance.
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
    /// A change in mid-run: `rig.at(10s, [&] { rig.bottleneck().change(...); })`.
    void at(Duration when, std::function<void()> action);
    /// One more path for a flow that runs, through the same lines.
    void add_path(std::size_t flow);
    [[nodiscard]] Link& bottleneck() noexcept { return *bottleneck_; }
    [[nodiscard]] Link& return_line() noexcept { return *return_line_; }
    [[nodiscard]] Duration elapsed() const noexcept { return events_.now() - kStart; }
    [[nodiscard]] std::size_t flow_count() const noexcept { return setup_.flows.size(); }
    [[nodiscard]] const FlowRigSetup& setup() const noexcept { return setup_; }

    /// Stream bytes handed to the receiver.
    [[nodiscard]] Rate goodput(std::size_t flow, Duration from, Duration to) const;
    [[nodiscard]] Rate goodput(Duration from, Duration to) const;  ///< of all flows
    /// Part of the line's time that is used, headers and cross traffic included.
    [[nodiscard]] double utilisation(Duration from, Duration to) const;
    /// Jain's index (sum x)^2 / (n sum x^2) over the flows that run during all of [from, to).
    [[nodiscard]] double jain(Duration from, Duration to) const;
    /// Mean of what a flow takes for the rate of the line, bits/s.
    [[nodiscard]] double mean_mtr(std::size_t flow, Duration from, Duration to) const;
    [[nodiscard]] QueueDelay queue_delay(Duration from, Duration to) const;
    /// Packets that the sender took for lost, as a part of those sent.
    [[nodiscard]] double loss(std::size_t flow, Duration from, Duration to) const;
    /// Packets dropped by the full queue, as a part of those that reached it.
    [[nodiscard]] double drops(Duration from, Duration to) const;
    /// When a flow with a size was acknowledged in full, since its own start.
    [[nodiscard]] std::optional<Duration> completed(std::size_t flow) const;

    [[nodiscard]] const std::vector<RigSample>& samples() const noexcept { return samples_; }
    [[nodiscard]] PathStats stats(std::size_t flow) const;
    /// The controller's connection; null before the start and after the end.
    [[nodiscard]] proto::Connection* connection(std::size_t flow) const;
    /// A line of figures for each flow and one for the line, over [from, to); for INFO() and the command line.
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

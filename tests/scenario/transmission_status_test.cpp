// The experiment of Jung, Lee and Kim, "Transmission status monitoring method for improving the performance of MPTCP in
// Bufferbloat environment" (2018), without ns-3: two lines of 10 Mbit/s, 10 ms each way, behind an access of the same
// rate; UDP through the second router, which drops nothing. What it sends at random fills seconds of queue there.
// bench/papers has it in ns-3, docs/lab/benchmarks.md the figures.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "sim/flows.hpp"
#include "sim/path_apps.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr std::uint32_t kDatagram = 1400;
constexpr std::uint32_t kLineOverhead = 30;             // PPP, IPv4, UDP
constexpr std::uint32_t kStreamBytes = kDatagram - 38;  // of a full packet
constexpr std::uint64_t kWindowPackets = 3000;
constexpr std::uint64_t kBitsPerSecond = 10'000'000;
constexpr std::uint16_t kPort = 7000;
constexpr Duration kRun = 60s;

/// UDP that is on at its peak or silent, for exponential times; half a second a cycle on average.
class RandomBursts final : EventSink {
  public:
    struct Plan {
        Duration from;
        Duration to;
        double peak_bps;
        double mean_bps;
    };

    RandomBursts(EventQueue& events, Network& network, NodeId node, Address to, const Plan& plan, Prng prng)
        : events_(events), network_(network), node_(node), to_(to), plan_(plan), prng_(prng), data_(kDatagram) {
        gap_ = from_seconds((kDatagram + kLineOverhead) * 8 / plan.peak_bps);
        on_ = kCycle * plan.mean_bps / plan.peak_bps;
        events_.schedule(kStart + plan.from, *this, 0);
    }

  private:
    static constexpr double kCycle = 0.5;  // s

    Duration draw(double mean) {
        const double uniform = (static_cast<double>(prng_.next() >> 11U) + 0.5) * 0x1.0p-53;
        return from_seconds(-mean * std::log(uniform));
    }
    void on_due(Instant now, std::uint64_t /*tag*/) override {
        if (now >= kStart + plan_.to) return;
        if (now >= silent_from_) {
            const Instant next = now + draw(kCycle - on_);
            silent_from_ = next + draw(on_);
            events_.schedule(next, *this, 0);
            return;
        }
        network_.send(node_, to_, data_);
        events_.schedule(now + gap_, *this, 0);
    }

    EventQueue& events_;
    Network& network_;
    NodeId node_;
    Address to_;
    Plan plan_;
    Prng prng_;
    std::vector<std::byte> data_;
    Duration gap_{};
    double on_ = 0.0;  // s
    Instant silent_from_{};
};

struct Figures {
    double mean_held = 0.0;  // packets
    double most_held = 0.0;
    double mean_wait_ms = 0.0;
    double longest_wait_ms = 0.0;
    double mbps = 0.0;  // of the stream
};

class Experiment {
  public:
    explicit Experiment(std::uint64_t seed) : seed_(seed), network_(events_, seed) {
        receiver_host_ = host("receiver", make_address(21, kPort), 1000);
        sender_host_ = host("sender", make_address(11, kPort), 2000);
        for (std::uint8_t i = 0; i < 2; ++i) add_line(i);
        add_bursts({.from = 10s, .to = 20s, .peak_bps = 23e6, .mean_bps = 16e6});
        add_bursts({.from = 35s, .to = 43s, .peak_bps = 25e6, .mean_bps = 17.5e6});
    }

    Figures run() {
        receiver_host_->listen(1, [this](proto::Connection&) { return receiver_; });
        const auto sender = std::make_shared<PathSender>(std::vector{ways_[1]});
        events_.call_at(kStart, [this, sender] { sender_host_->connect(std::vector{ways_[0]}, sender); });
        events_.run_until(kStart + kRun);
        CHECK(receiver_->intact());
        const ReorderMeter& meter = receiver_->meter();
        return {.mean_held = meter.mean_held() / kStreamBytes,
                .most_held = static_cast<double>(meter.most_held()) / kStreamBytes,
                .mean_wait_ms = meter.mean_wait_s() * 1e3,
                .longest_wait_ms = to_seconds(meter.longest_wait()) * 1e3,
                .mbps = Rate::from_bytes(receiver_->received(), kRun).bps() / 1e6};
    }

  private:
    std::unique_ptr<SimHost> host(const char* name, const Address& address, std::uint64_t part) {
        HostSetup setup;
        setup.name = name;
        setup.address = address;
        setup.seed = Prng::derive(seed_, part).next();
        setup.provider = &shared_kit().provider();
        setup.handshakes = &shared_kit().handshakes();
        setup.config.min_datagram = kDatagram;
        setup.config.max_datagram = kDatagram;
        setup.config.stream_window = kWindowPackets * kStreamBytes;
        setup.config.connection_window = setup.config.stream_window;
        setup.config.max_memory = 0;
        return std::make_unique<SimHost>(events_, network_, std::move(setup));
    }

    Link& add_link(const std::string& name, Duration delay, std::uint64_t packets) {
        return network_.add_link(name, {.bits_per_second = kBitsPerSecond,
                                        .delay = delay,
                                        .queue_bytes = packets * (kDatagram + kLineOverhead),
                                        .overhead = kLineOverhead});
    }

    void add_line(std::uint8_t i) {
        const std::string number = std::to_string(i);
        const Address from = make_address(static_cast<std::uint8_t>(11 + i), kPort);
        const Address to = make_address(static_cast<std::uint8_t>(21 + i), kPort);
        if (i > 0) {
            network_.add_address(sender_host_->node(), from);
            network_.add_address(receiver_host_->node(), to);
        }
        Link& access = add_link("access " + number, 0ms, 100);
        router_ = &add_link("router " + number, 10ms, i == 0 ? 100 : 20'000);
        network_.connect(from, to, {&access, router_});
        Link& back = add_link("back " + number, 10ms, 100);
        Link& home = add_link("home " + number, 0ms, 100);
        network_.connect(to, from, {&back, &home});
        ways_.push_back({.local = from, .remote = to, .options = {}});
    }

    void add_bursts(const RandomBursts::Plan& plan) {
        const auto number = static_cast<std::uint8_t>(bursts_.size());
        const Address to = make_address(static_cast<std::uint8_t>(41 + number), kPort);
        const NodeId source =
            network_.add_node("bursts", make_address(static_cast<std::uint8_t>(31 + number), kPort), nullptr);
        network_.connect(source, network_.add_node("sink", to, nullptr), {router_});
        bursts_.push_back(
            std::make_unique<RandomBursts>(events_, network_, source, to, plan, Prng::derive(seed_, 3000U + number)));
    }

    std::uint64_t seed_;
    EventQueue events_;
    Network network_;
    std::unique_ptr<SimHost> receiver_host_;
    std::unique_ptr<SimHost> sender_host_;
    std::vector<proto::PathAddresses> ways_;
    Link* router_ = nullptr;  // of the line that was added last
    std::vector<std::unique_ptr<RandomBursts>> bursts_;
    std::shared_ptr<MeteredReceiver> receiver_ = std::make_shared<MeteredReceiver>(kStart);
};

}  // namespace

TEST_CASE("others' seconds of queue on one of two lines: an ordered stream waits for 16 packets and 4 ms on average") {
    const auto seeds = some_seeds(12);
    if (seeds.size() < 12) WARN("SKIP: seeds 2 to 12, in builds with sanitizers");
    for (const std::uint64_t seed : seeds) {
        const Figures figures = Experiment(seed).run();
        INFO("seed " << seed << ": " << figures.mbps << " Mbit/s; held " << figures.mean_held << " packets, at most "
                     << figures.most_held << "; waited " << figures.mean_wait_ms << " ms, at most "
                     << figures.longest_wait_ms);
        CHECK(figures.mean_held <= 16.0);
        CHECK(figures.mean_wait_ms <= 4.0);
        CHECK(figures.mbps >= 13.0);
    }
}

TEST_CASE("print the transmission status experiment of docs/lab/benchmarks.md", "[.table]") {
    for (const std::uint64_t seed : some_seeds(36)) {
        const Figures f = Experiment(seed).run();
        std::printf("seed %2d: %.2f Mbit/s; held %6.1f, at most %6.0f; waited %6.1f ms, at most %6.0f\n",
                    static_cast<int>(seed), f.mbps, f.mean_held, f.most_held, f.mean_wait_ms, f.longest_wait_ms);
    }
}

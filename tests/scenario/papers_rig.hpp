// The set-up of the multipath papers without ns-3, as in bench/papers. Each path is a chain sender - router - receiver.
// The set-up has an endless ordered stream, a receive buffer counted in packets, and a meter of the bytes that wait in
// it.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/path_apps.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

namespace udtx::sim {

/// The access link has the rate of the bottleneck and no delay. Packets that the sender alone sends in excess wait
/// there.
struct PaperLine {
    std::uint64_t bits_per_second = 10'000'000;
    Duration delay = std::chrono::milliseconds(10);  ///< one way
    std::uint64_t queue = 100;                       ///< of the router, packets
    std::uint64_t access_queue = 100;                ///< of the sender, packets
};

struct PaperSetup {
    std::uint64_t seed = 1;
    std::vector<PaperLine> lines{};
    std::uint32_t datagram = 1400;
    std::uint64_t window = 3000;  ///< receive buffer, packets
    std::string scheduler = "eds";
    std::string congestion = "udtx";
    bool reinject = true;
    bool failover = false;  ///< the first path carries all data; each path has a controller of its own
    bool silent_path_rule = true;
};

/// UDP at its peak rate in exponentially distributed bursts with exponential pauses; a cycle lasts half a second on
/// average.
class RandomBursts final : EventSink {
  public:
    struct Plan {
        Duration from;
        Duration to;
        double peak_bps;
        double mean_bps;
    };
    struct Way {
        NodeId node;
        Address to;
        std::uint32_t datagram;
        std::uint32_t overhead;
    };

    RandomBursts(EventQueue& events, Network& network, const Way& way, const Plan& plan, Prng prng)
        : events_(events), network_(network), way_(way), plan_(plan), prng_(prng), data_(way.datagram) {
        gap_ = from_seconds((way.datagram + way.overhead) * 8 / plan.peak_bps);
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
        network_.send(way_.node, way_.to, data_);
        events_.schedule(now + gap_, *this, 0);
    }

    EventQueue& events_;
    Network& network_;
    Way way_;
    Plan plan_;
    Prng prng_;
    std::vector<std::byte> data_;
    Duration gap_{};
    double on_ = 0.0;  // s
    Instant silent_from_{};
};

class PaperRig {
  public:
    static constexpr std::uint32_t kLineOverhead = 30;  ///< PPP, IPv4, UDP

    explicit PaperRig(PaperSetup setup)
        : setup_(std::move(setup)),
          network_(events_, setup_.seed),
          receiver_host_(host("receiver", make_address(21, kPort), 1000)),
          sender_host_(host("sender", make_address(11, kPort), 2000)) {
        for (std::size_t i = 0; i < setup_.lines.size(); ++i) add_line(i);
    }
    PaperRig(const PaperRig&) = delete;
    PaperRig& operator=(const PaperRig&) = delete;

    void add_bursts(std::size_t line, const RandomBursts::Plan& plan) {
        const auto number = static_cast<std::uint8_t>(bursts_.size());
        const Address to = make_address(static_cast<std::uint8_t>(41 + number), kPort);
        const NodeId source =
            network_.add_node("bursts", make_address(static_cast<std::uint8_t>(31 + number), kPort), nullptr);
        network_.connect(source, network_.add_node("sink", to, nullptr), {lines_[line].out});
        bursts_.push_back(std::make_unique<RandomBursts>(
            events_, network_,
            RandomBursts::Way{.node = source, .to = to, .datagram = setup_.datagram, .overhead = kLineOverhead}, plan,
            Prng::derive(setup_.seed, 3000U + number)));
    }

    void at(Duration when, std::function<void()> action) { events_.call_at(kStart + when, std::move(action)); }
    /// Changes a link in both directions.
    void change(std::size_t line, const std::function<void(LinkParams&)>& edit) {
        lines_.at(line).out->change(edit);
        lines_.at(line).back->change(edit);
    }
    /// Changes the delay linearly to `delay`, in both directions. The steps are so small that no packet overtakes
    /// another.
    void ramp(std::size_t line, Duration from, Duration to, Duration delay) {
        at(from, [this, line, from, to, delay] { step({line, from, to, lines_[line].out->params().delay, delay}); });
    }

    void run(Duration length) {
        receiver_host_->listen(1, [this](proto::Connection&) { return receiver_; });
        std::vector<proto::PathAddresses> more(carriers_.begin() + 1, carriers_.end());
        const auto sender = std::make_shared<PathSender>(std::move(more));
        events_.call_at(kStart, [this, sender] { sender_host_->connect(std::vector{carriers_[0]}, sender); });
        for (Duration end{}; end < length; end += std::chrono::seconds(1)) {
            events_.run_until(kStart + end + std::chrono::seconds(1));
            by_second_.push_back(receiver_->received());
        }
        CHECK(receiver_->intact());
    }

    /// Mean rate of the stream in [from, to), in whole seconds.
    [[nodiscard]] double mbps(std::size_t from, std::size_t to) const {
        const auto until = [this](std::size_t s) { return s == 0 ? 0 : by_second_.at(s - 1); };
        return static_cast<double>(until(to) - until(from)) * 8e-6 / static_cast<double>(to - from);
    }
    [[nodiscard]] double mbps() const { return mbps(0, by_second_.size()); }
    [[nodiscard]] const ReorderMeter& meter() const noexcept { return receiver_->meter(); }
    [[nodiscard]] double packets(double bytes) const noexcept { return bytes / stream_bytes(); }
    [[nodiscard]] ConnectionStats stats() const { return sender_host_->session().stats(); }

  private:
    static constexpr std::uint16_t kPort = 7000;
    struct Line {
        Link* out = nullptr;  // the router's link
        Link* back = nullptr;
    };
    struct Ramp {
        std::size_t line;
        Duration from;
        Duration to;
        Duration first;
        Duration last;
    };

    /// Stream bytes in a full packet.
    [[nodiscard]] std::uint32_t stream_bytes() const noexcept { return setup_.datagram - 38; }

    void step(const Ramp& r) {
        const double part = std::min(1.0, to_seconds(events_.now() - kStart - r.from) / to_seconds(r.to - r.from));
        const Duration delay = r.first + from_seconds(part * to_seconds(r.last - r.first));
        change(r.line, [delay](LinkParams& p) { p.delay = delay; });
        if (part < 1.0) events_.call_at(events_.now() + std::chrono::milliseconds(1), [this, r] { step(r); });
    }

    std::unique_ptr<SimHost> host(const char* name, const Address& address, std::uint64_t part) {
        HostSetup setup;
        setup.name = name;
        setup.address = address;
        setup.seed = Prng::derive(setup_.seed, part).next();
        setup.provider = &shared_kit().provider();
        setup.handshakes = &shared_kit().handshakes();
        setup.config.min_datagram = setup_.datagram;
        setup.config.max_datagram = setup_.datagram;
        setup.config.stream_window = setup_.window * stream_bytes();
        setup.config.connection_window = setup.config.stream_window;
        setup.config.max_memory = 0;
        setup.config.scheduler = setup_.scheduler;
        setup.config.congestion = setup_.congestion;
        setup.config.reinject = setup_.reinject;
        if (setup_.failover) setup.config.coupling = Coupling::none;
        setup.experiment.silent_path_rule = setup_.silent_path_rule;
        return std::make_unique<SimHost>(events_, network_, std::move(setup));
    }

    Link& add_link(const std::string& name, const PaperLine& line, Duration delay, std::uint64_t packets) {
        return network_.add_link(name, {.bits_per_second = line.bits_per_second,
                                        .delay = delay,
                                        .queue_bytes = packets * (setup_.datagram + kLineOverhead),
                                        .overhead = kLineOverhead});
    }

    void add_line(std::size_t i) {
        const PaperLine& line = setup_.lines[i];
        const std::string number = std::to_string(i);
        const Address from = make_address(static_cast<std::uint8_t>(11 + i), kPort);
        const Address to = make_address(static_cast<std::uint8_t>(21 + i), kPort);
        if (i > 0) {
            network_.add_address(sender_host_->node(), from);
            network_.add_address(receiver_host_->node(), to);
        }
        Link& access = add_link("access " + number, line, {}, line.access_queue);
        Link& out = add_link("router " + number, line, line.delay, line.queue);
        network_.connect(from, to, {&access, &out});
        Link& back = add_link("back " + number, line, line.delay, 100);
        Link& home = add_link("home " + number, line, {}, 100);
        network_.connect(to, from, {&back, &home});
        lines_.push_back({&out, &back});
        carriers_.push_back({.local = from, .remote = to, .options = {.standby = setup_.failover && i > 0}});
    }

    PaperSetup setup_;
    EventQueue events_;
    Network network_;
    std::unique_ptr<SimHost> receiver_host_;
    std::unique_ptr<SimHost> sender_host_;
    std::vector<proto::PathAddresses> carriers_;
    std::vector<Line> lines_;
    std::vector<std::unique_ptr<RandomBursts>> bursts_;
    std::shared_ptr<MeteredReceiver> receiver_ = std::make_shared<MeteredReceiver>(kStart);
    std::vector<std::uint64_t> by_second_;
};

}  // namespace udtx::sim

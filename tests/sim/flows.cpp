#include "sim/flows.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "sim/fairness.hpp"
#include "sim/scenario.hpp"
#include "sim/tcp_flow.hpp"

namespace udtx::sim {
namespace {

constexpr std::uint64_t kEndless = 1ULL << 50U;
constexpr std::uint32_t kMtu = 1472;
constexpr std::uint16_t kPort = 7000;

/// Takes and counts the received bytes.
class CountingSink final : public App {
  public:
    void on_piece(StreamId id, std::uint64_t /*offset*/, std::span<const std::byte> bytes) override {
        stream_ = id;
        held_ += bytes.size();
    }
    void on_tick(Instant /*now*/, proto::Connection& connection) override {
        if (held_ == 0) return;
        received_ += held_;
        connection.release_pieces(stream_, std::exchange(held_, 0));
    }
    [[nodiscard]] std::uint64_t received() const noexcept { return received_; }

  private:
    StreamId stream_;
    std::uint64_t held_ = 0;
    std::uint64_t received_ = 0;
};

std::uint64_t bdp_bytes(const FlowRigSetup& setup) {
    return static_cast<std::uint64_t>(static_cast<double>(setup.bits_per_second) / 8.0 * to_seconds(setup.rtt));
}

std::string row(const std::string& name, const char* format, auto... values) {
    char text[200];
    std::snprintf(text, sizeof text, format, values...);
    return name + text + "\n";
}

}  // namespace

std::vector<std::uint64_t> some_seeds(std::uint64_t n) {
    std::vector<std::uint64_t> seeds(size_scale() < 1.0 ? 1 : n);
    std::iota(seeds.begin(), seeds.end(), 1U);
    return seeds;
}

Spread spread(std::vector<double> values) {
    std::ranges::sort(values);
    return {.least = values.front(), .median = values.at(values.size() / 2), .most = values.back()};
}

struct FlowRig::Flow {
    FlowSpec spec;
    std::unique_ptr<SimHost> client;
    std::unique_ptr<SimHost> server;
    std::shared_ptr<Sender> sender;
    std::shared_ptr<CountingSink> sink = std::make_shared<CountingSink>();
    std::unique_ptr<TcpFlow> tcp;  // replaces all members above
};

class FlowRig::CrossSource final : EventSink {
  public:
    CrossSource(EventQueue& events, Network& network, Link& bottleneck, const CrossTraffic& traffic)
        : events_(events), network_(network), traffic_(traffic), data_(kMtu), to_(make_address(251, kPort)) {
        node_ = network.add_node("cross source", make_address(250, kPort), nullptr);
        const NodeId target = network.add_node("cross sink", to_, nullptr);
        network.connect(node_, target, {&bottleneck});
        gap_ = Duration(static_cast<std::int64_t>((kMtu + bottleneck.params().overhead) * 8'000'000'000ULL /
                                                  traffic.bits_per_second));
        events_.schedule(kStart + traffic.from, *this, 0);
    }

  private:
    void on_due(Instant now, std::uint64_t /*tag*/) override {
        const Duration into = (now - kStart - traffic_.from) % (traffic_.on + traffic_.off);
        if (into >= traffic_.on) {
            events_.schedule(now + (traffic_.on + traffic_.off - into), *this, 0);
            return;
        }
        network_.send(node_, to_, data_);
        events_.schedule(now + gap_, *this, 0);
    }

    EventQueue& events_;
    Network& network_;
    CrossTraffic traffic_;
    std::vector<std::byte> data_;
    Address to_;
    NodeId node_ = 0;
    Duration gap_{};
};

FlowRig::FlowRig(FlowRigSetup setup) : setup_(std::move(setup)), network_(events_, setup_.seed) {
    if (setup_.flows.empty() || setup_.flows.size() > 120) throw std::runtime_error(setup_.name + ": 1 to 120 flows");
    if (setup_.queue_bytes == 0) {
        const double wanted = setup_.queue_bdp * static_cast<double>(bdp_bytes(setup_));
        setup_.queue_bytes = std::max<std::uint64_t>(static_cast<std::uint64_t>(wanted), 3 * (kMtu + 28));
    }
    LinkParams line;
    line.bits_per_second = setup_.bits_per_second;
    line.delay = Duration::zero();
    line.queue_bytes = setup_.queue_bytes;
    line.mtu = kMtu;
    line.loss = setup_.loss;
    line.jitter = setup_.jitter;
    line.jitter_hold = setup_.jitter_hold;
    bottleneck_ = &network_.add_link("bottleneck", line);
    LinkParams back;
    back.bits_per_second = setup_.back.bits_per_second;
    back.delay = Duration::zero();
    back.queue_bytes = setup_.back.queue_bytes;
    back.mtu = kMtu;
    back.loss = setup_.back.loss;
    return_line_ = &network_.add_link("return line", back);
    for (const FlowSpec& spec : setup_.flows) add_flow(spec);
    if (setup_.cross.bits_per_second > 0)
        cross_ = std::make_unique<CrossSource>(events_, network_, *bottleneck_, setup_.cross);
    sample();
}

FlowRig::~FlowRig() = default;

void FlowRig::add_flow(const FlowSpec& spec) {
    const auto index = flows_.size();
    auto flow = std::make_unique<Flow>();
    flow->spec = spec;
    if (flow->spec.rtt == Duration::zero()) flow->spec.rtt = setup_.rtt;
    if (spec.cc == kTcpBbr) {
        add_tcp_flow(*flow, index);
        flows_.push_back(std::move(flow));
        return;
    }
    const std::string name = "flow " + std::to_string(index);

    TransportConfig config = spec.config;
    config.congestion = spec.cc;
    // Memory at the ends must not be the limit: the room is four times the path's bandwidth-delay product plus its
    // queue.
    const double longest = to_seconds(std::max(flow->spec.rtt, setup_.rtt));
    const auto room = 4 * (static_cast<std::uint64_t>(static_cast<double>(setup_.bits_per_second) / 8.0 * longest) +
                           setup_.queue_bytes);
    for (std::uint64_t* limit : {&config.connection_window, &config.stream_window, &config.send_buffer})
        *limit = std::max<std::uint64_t>(*limit, room);

    const auto last = static_cast<std::uint8_t>(2 * index + 1);
    const auto key = setup_.shared_key ? std::optional(crypto::Secret{}) : std::nullopt;
    const auto host = [&](const char* end, std::uint8_t number) {
        return std::make_unique<SimHost>(events_, network_,
                                         HostSetup{.name = name + end,
                                                   .address = make_address(number, kPort),
                                                   .config = config,
                                                   .seed = setup_.seed * 1000 + number,
                                                   .provider = &shared_kit().provider(),
                                                   .handshakes = &shared_kit().handshakes(),
                                                   .hello_key = key,
                                                   .experiment = spec.experiment},
                                         setup_.noise);
    };
    flow->client = host(" client", last);
    flow->server = host(" server", static_cast<std::uint8_t>(last + 1));
    connect(flow->client->node(), flow->server->node(), flow->spec.rtt, name);

    flow->sender =
        std::make_shared<Sender>(Sender::Options{.bytes = spec.bytes > 0 ? spec.bytes : kEndless, .known = spec.known});
    flow->server->listen(1, [sink = flow->sink](proto::Connection&) { return sink; });
    Flow& started = *flow;
    at(spec.start, [this, &started] { start_flow(started); });
    flows_.push_back(std::move(flow));
}

void FlowRig::add_tcp_flow(Flow& flow, std::size_t index) {
    const std::string name = "flow " + std::to_string(index);
    const auto last = static_cast<std::uint8_t>(2 * index + 1);
    flow.tcp =
        std::make_unique<TcpFlow>(events_, network_,
                                  TcpFlow::Setup{.name = name,
                                                 .source = make_address(last, kPort),
                                                 .sink = make_address(static_cast<std::uint8_t>(last + 1), kPort),
                                                 .seed = setup_.seed * 1000 + last});
    connect(flow.tcp->source(), flow.tcp->sink(), flow.spec.rtt, name);
    at(flow.spec.start, [&flow] { flow.tcp->start(); });
    if (flow.spec.stop) at(*flow.spec.stop, [&flow] { flow.tcp->stop(); });
}

void FlowRig::connect(NodeId source, NodeId sink, Duration rtt, const std::string& name) {
    LinkParams way{.bits_per_second = 0, .delay = rtt / 2, .mtu = kMtu};
    way.card = setup_.card;
    Link& there = network_.add_link(name + " there", way);
    way.card = {};
    Link& back = network_.add_link(name + " back", way);
    const LinkParams access{.bits_per_second = setup_.access_bits_per_second, .delay = {}, .queue_bytes = kEndless};
    Link& own = network_.add_link(name + " access", access);
    network_.connect(source, sink, {&own, bottleneck_, &there});
    network_.connect(sink, source, {return_line_, &back});
}

void FlowRig::start_flow(Flow& flow) {
    flow.client->connect(flow.server->address(), flow.sender);
    if (!flow.spec.stop) return;
    at(*flow.spec.stop, [this, &flow] {
        if (auto& session = flow.client->session(); session.connection) {
            session.connection->close(events_.now(), 0, "stop");
            flow.client->pump();
        }
    });
}

void FlowRig::add_path(std::size_t flow) {
    SimHost& client = *flows_.at(flow)->client;
    const auto connection = client.session().connection;
    const std::size_t number = connection->stats().paths.size();
    const Address address = make_address(static_cast<std::uint8_t>(150 + 10 * flow + number), kPort);
    network_.add_address(client.node(), address);
    if (!connection->add_path(events_.now(), address, flows_[flow]->server->address(), {}).ok())
        throw std::runtime_error(setup_.name + ": no more paths");
    client.pump();
}

void FlowRig::run_for(Duration time) {
    const Instant end = events_.now() + time;
    while (events_.now() < end) {
        events_.run_until(std::min(kStart + kSample * static_cast<std::int64_t>(samples_.size()), end));
        if (elapsed() >= kSample * static_cast<std::int64_t>(samples_.size())) sample();
    }
}

void FlowRig::at(Duration when, std::function<void()> action) { events_.call_at(kStart + when, std::move(action)); }

void FlowRig::sample() {
    const LinkCounters& line = bottleneck_->counters();
    RigSample s;
    s.queue_bytes = bottleneck_->queued_bytes(events_.now());
    s.queue_delay = bottleneck_->queue_delay(events_.now());
    s.line_bits = 8 * (line.delivered_bytes + line.delivered * bottleneck_->params().overhead);
    s.offered = line.sent - line.dropped_loss - line.dropped_mtu;
    s.dropped = line.dropped_queue;
    for (std::size_t i = 0; i < flows_.size(); ++i) s.flows.push_back(flow_sample(i));
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        const Flow& flow = *flows_[i];
        if (flow.tcp && flow.spec.bytes > 0 && s.flows[i].received >= flow.spec.bytes) flow.tcp->stop();
    }
    samples_.push_back(std::move(s));
}

FlowSample FlowRig::flow_sample(std::size_t flow) const {
    if (const TcpFlow* tcp = flows_[flow]->tcp.get()) {
        const TcpFlow::Counters& counters = tcp->counters();
        return {.received = counters.received,
                .sent_packets = counters.sent_packets,
                .lost_packets = counters.lost_packets,
                .window = static_cast<std::uint64_t>(tcp->control().window()) * TcpFlow::kSegment,
                .in_flight = tcp->in_flight() * TcpFlow::kSegment,
                .pacing_bps = tcp->control().pacing_rate() * TcpFlow::kSegment * 8.0,
                .mtr_bps = tcp->control().bandwidth() * TcpFlow::kSegment * 8.0,
                .smoothed_rtt = from_seconds(tcp->smoothed_rtt()),
                .slow_start = tcp->control().startup()};
    }
    const PathStats p = stats(flow);
    return {.received = flows_[flow]->sink->received(),
            .sent_packets = p.sent_packets,
            .lost_packets = p.lost_packets,
            .window = p.window,
            .in_flight = p.in_flight,
            .pacing_bps = p.pacing_rate.bps(),
            .mtr_bps = p.congestion.mtr.bps(),
            .congestion_degree = p.congestion.congestion_degree,
            .smoothed_rtt = p.smoothed_rtt,
            .slow_start = p.congestion.slow_start};
}

const RigSample& FlowRig::sample_at(Duration time) const {
    return samples_.at(static_cast<std::size_t>(std::max(time, Duration::zero()) / kSample));
}

PathStats FlowRig::stats(std::size_t flow) const {
    if (!flows_.at(flow)->client) return {};
    const auto& sessions = flows_[flow]->client->sessions();
    if (sessions.empty()) return {};
    const ConnectionStats all = sessions.front()->stats();
    return all.paths.empty() ? PathStats{} : all.paths.front();
}

proto::Connection* FlowRig::connection(std::size_t flow) const {
    if (!flows_.at(flow)->client) return nullptr;
    const auto& sessions = flows_[flow]->client->sessions();
    return sessions.empty() ? nullptr : sessions.front()->connection.get();
}

Rate FlowRig::goodput(std::size_t flow, Duration from, Duration to) const {
    const std::uint64_t bytes = sample_at(to).flows.at(flow).received - sample_at(from).flows.at(flow).received;
    return Rate::from_bytes(bytes, to - from);
}

Rate FlowRig::goodput(Duration from, Duration to) const {
    Rate sum;
    for (std::size_t i = 0; i < flows_.size(); ++i) sum = sum + goodput(i, from, to);
    return sum;
}

double FlowRig::utilisation(Duration from, Duration to) const {
    const auto bits = static_cast<double>(sample_at(to).line_bits - sample_at(from).line_bits);
    const std::vector<RateStep>& rates = bottleneck_->params().rates;
    if (!rates.empty()) return bits / (8.0 * static_cast<double>(bytes_between(rates, from, to)));
    return bits / (static_cast<double>(setup_.bits_per_second) * to_seconds(to - from));
}

bool FlowRig::active(const FlowSpec& spec, Duration from, Duration to) const {
    return spec.start < to && spec.start <= from && (!spec.stop || *spec.stop >= to);
}

double FlowRig::mean_mtr(std::size_t flow, Duration from, Duration to) const {
    double sum = 0.0;
    for (Duration t = from; t < to; t += kSample) {
        sum += samples_.at(static_cast<std::size_t>(t / kSample)).flows[flow].mtr_bps;
    }
    return sum / static_cast<double>((to - from) / kSample);
}

double FlowRig::jain(Duration from, Duration to) const {
    std::vector<double> shares;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        if (active(flows_[i]->spec, from, to)) shares.push_back(goodput(i, from, to).bps());
    }
    return sim::jain(shares);
}

QueueDelay FlowRig::queue_delay(Duration from, Duration to) const {
    std::vector<double> seconds;
    for (Duration t = from; t < to; t += kSample) seconds.push_back(to_seconds(sample_at(t).queue_delay));
    if (seconds.empty()) return {};
    std::sort(seconds.begin(), seconds.end());
    double sum = 0.0;
    for (const double s : seconds) sum += s;
    return {.mean = from_seconds(sum / static_cast<double>(seconds.size())),
            .p95 = from_seconds(seconds[seconds.size() * 95 / 100]),
            .max = from_seconds(seconds.back())};
}

double FlowRig::loss(std::size_t flow, Duration from, Duration to) const {
    const FlowSample& a = sample_at(from).flows.at(flow);
    const FlowSample& b = sample_at(to).flows.at(flow);
    if (b.sent_packets == a.sent_packets) return 0.0;
    return static_cast<double>(b.lost_packets - a.lost_packets) / static_cast<double>(b.sent_packets - a.sent_packets);
}

double FlowRig::drops(Duration from, Duration to) const {
    const RigSample& a = sample_at(from);
    const RigSample& b = sample_at(to);
    if (b.offered == a.offered) return 0.0;
    return static_cast<double>(b.dropped - a.dropped) / static_cast<double>(b.offered - a.offered);
}

std::optional<Duration> FlowRig::completed(std::size_t flow) const {
    if (const FlowSpec& spec = flows_.at(flow)->spec; flows_[flow]->tcp && spec.bytes > 0) {
        const auto done =
            std::ranges::find_if(samples_, [&](const RigSample& s) { return s.flows[flow].received >= spec.bytes; });
        if (done == samples_.end()) return std::nullopt;
        return kSample * (done - samples_.begin()) - spec.start + spec.rtt / 2;
    }
    if (!flows_[flow]->sender) return std::nullopt;
    const auto at = flows_[flow]->sender->delivered_at();
    if (!at) return std::nullopt;
    return *at - kStart - flows_[flow]->spec.start;
}

std::string FlowRig::table(Duration from, Duration to) const {
    std::string out = row(setup_.name, ": seed %llu, %.4g to %.4g s", static_cast<unsigned long long>(setup_.seed),
                          to_seconds(from), to_seconds(to));
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        const FlowSpec& spec = flows_[i]->spec;
        out += row("  flow " + std::to_string(i) + " " + spec.cc,
                   " start %.4g s rtt %.4g ms: goodput %.2f Mbit/s, lost %.3f %%, srtt %.1f ms", to_seconds(spec.start),
                   to_seconds(spec.rtt) * 1e3, goodput(i, from, to).bps() / 1e6, loss(i, from, to) * 100.0,
                   to_seconds(sample_at(to).flows[i].smoothed_rtt) * 1e3);
        if (const auto time = completed(i)) out += row("    complete", " after %.3f s", to_seconds(*time));
    }
    const QueueDelay q = queue_delay(from, to);
    return out + row("  line", ": used %.4f, Jain %.4f, queue mean %.1f p95 %.1f max %.1f ms, dropped %.3f %%",
                     utilisation(from, to), jain(from, to), to_seconds(q.mean) * 1e3, to_seconds(q.p95) * 1e3,
                     to_seconds(q.max) * 1e3, drops(from, to) * 100.0);
}

}  // namespace udtx::sim

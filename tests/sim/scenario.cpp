#include "sim/scenario.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

namespace udtx::sim {
namespace {

constexpr std::uint16_t kClientPort = 40000;
constexpr std::uint16_t kServerPort = 7000;

std::string seconds_text(Duration d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f s", to_seconds(d));
    return text;
}

std::string describe(const Link& link) {
    const LinkCounters& c = link.counters();
    char text[320];
    std::snprintf(
        text, sizeof text,
        "  link %s: sent %llu delivered %llu dropped: queue %llu loss %llu burst %llu mtu %llu blackout %llu; "
        "duplicated %llu corrupted %llu reordered %llu; max queue %llu bytes\n",
        link.name().c_str(), static_cast<unsigned long long>(c.sent), static_cast<unsigned long long>(c.delivered),
        static_cast<unsigned long long>(c.dropped_queue), static_cast<unsigned long long>(c.dropped_loss),
        static_cast<unsigned long long>(c.dropped_burst), static_cast<unsigned long long>(c.dropped_mtu),
        static_cast<unsigned long long>(c.dropped_blackout), static_cast<unsigned long long>(c.duplicated),
        static_cast<unsigned long long>(c.corrupted), static_cast<unsigned long long>(c.reordered),
        static_cast<unsigned long long>(c.max_queue));
    return text;
}

std::string describe(const std::string& host, const Session& session) {
    std::string out = "  session of " + host + ": ";
    out += session.connected_at ? "connected at " + seconds_text(*session.connected_at - kStart) : "not connected";
    if (session.closed) {
        out += ", closed at " + seconds_text(*session.closed_at - kStart) + " (" + session.closed->message +
               (session.closed->by_peer ? ", by the peer)" : ")");
    }
    const ConnectionStats stats = session.stats();
    if (!stats.paths.empty()) {
        const PathStats& p = stats.paths[0];
        char text[320];
        std::snprintf(
            text, sizeof text,
            "; sent %llu received %llu lost %llu spurious %llu resent %llu probes %llu; datagram %u, "
            "srtt %s, window %llu, in flight %llu, pacing %.3g bit/s, mtr %.3g, undecryptable %llu",
            static_cast<unsigned long long>(p.sent_packets), static_cast<unsigned long long>(p.received_packets),
            static_cast<unsigned long long>(p.lost_packets), static_cast<unsigned long long>(p.spurious_losses),
            static_cast<unsigned long long>(p.retransmitted_packets), static_cast<unsigned long long>(p.probe_timeouts),
            static_cast<unsigned>(p.datagram_bytes), seconds_text(p.smoothed_rtt).c_str(),
            static_cast<unsigned long long>(p.window), static_cast<unsigned long long>(p.in_flight),
            p.pacing_rate.bps(), p.congestion.mtr.bps(), static_cast<unsigned long long>(stats.undecryptable_packets));
        out += text;
    }
    return out + "\n";
}

}  // namespace

CryptoKit& shared_kit() {
    static CryptoKit kit;
    return kit;
}

std::uint64_t seed_or_environment(std::uint64_t seed) {
    const char* text = std::getenv("UDTX_SIM_SEED");
    return text == nullptr ? seed : std::strtoull(text, nullptr, 10);
}

bool whole_matrix() noexcept { return std::getenv("UDTX_WHOLE_MATRIX") != nullptr; }

double size_scale() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
    return 0.05;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 0.05;
#else
    return 1.0;
#endif
#else
    return 1.0;
#endif
}

ScenarioSetup symmetric(std::string name, const LinkParams& line, std::uint64_t seed) {
    ScenarioSetup setup;
    setup.name = std::move(name);
    setup.seed = seed;
    setup.up = line;
    setup.down = line;
    return setup;
}

Scenario::Scenario(ScenarioSetup setup)
    : name_(std::move(setup.name)), seed_(seed_or_environment(setup.seed)), network_(events_, seed_) {
    CryptoKit& client_kit = setup.crypto != nullptr ? *setup.crypto : shared_kit();
    CryptoKit& server_kit = setup.server_crypto != nullptr ? *setup.server_crypto : client_kit;
    Prng seeds = Prng::derive(seed_, 0);
    std::optional<crypto::Secret> reset_key;
    const auto host = [&](const char* name, const Address& address, TransportConfig config, CryptoKit& kit,
                          crypto::Provider* provider, std::optional<crypto::Secret> hello_key,
                          const proto::Experiment& experiment, const HostNoise& noise) {
        return std::make_unique<SimHost>(events_, network_,
                                         HostSetup{.name = name,
                                                   .address = address,
                                                   .config = std::move(config),
                                                   .seed = seeds.next(),
                                                   .provider = provider != nullptr ? provider : &kit.provider(),
                                                   .handshakes = &kit.handshakes(),
                                                   .hello_key = hello_key,
                                                   .reset_key = reset_key,
                                                   .packet_threads = setup.packet_threads,
                                                   .experiment = experiment},
                                         noise);
    };
    client_ = host("client", make_address(1, kClientPort), std::move(setup.client), client_kit, setup.client_provider,
                   setup.client_hello_key, setup.client_experiment, setup.client_noise);
    reset_key = setup.server_reset_key;
    server_ = host("server", make_address(2, kServerPort), std::move(setup.server), server_kit, setup.server_provider,
                   setup.server_hello_key, setup.server_experiment, setup.server_noise);
    up_ = &network_.add_link("up", std::move(setup.up));
    down_ = &network_.add_link("down", std::move(setup.down));
    network_.connect(client_->node(), server_->node(), {up_});
    network_.connect(server_->node(), client_->node(), {down_});
}

Scenario::~Scenario() {
    if (std::getenv("UDTX_SIM_VERBOSE") != nullptr) std::fputs(history().c_str(), stderr);
}

void Scenario::note(const std::string& what) { steps_.push_back(seconds_text(elapsed()) + ": " + what); }

void Scenario::at(Duration when, const std::string& what, std::function<void()> action) {
    events_.call_at(kStart + when, [this, what, action = std::move(action)] {
        note(what);
        action();
        client_->pump();
        server_->pump();
    });
}

bool Scenario::run_until(const std::function<bool()>& done, Duration deadline) {
    try {
        run_events(done, kStart + deadline);
    } catch (const std::exception& e) {
        throw std::runtime_error(std::string(e.what()) + "\n" + history());
    }
    const bool ok = done();
    note(ok ? "reached what was waited for" : "deadline passed");
    return ok;
}

void Scenario::run_events(const std::function<bool()>& done, Instant deadline) {
    while (!done()) {
        const auto next = events_.next();
        if (!next || *next > deadline) {
            events_.run_until(deadline);
            return;
        }
        events_.step();
    }
}

void Scenario::run_for(Duration time) {
    (void)run_until([] { return false; }, elapsed() + time);
}

std::string Scenario::history() const {
    std::string out = "scenario \"" + name_ + "\", seed " + std::to_string(seed_) +
                      " (UDTX_SIM_SEED=" + std::to_string(seed_) + " runs it again), at " + seconds_text(elapsed()) +
                      ", " + std::to_string(events_.processed()) + " events\n";
    for (const std::string& step : steps_) out += "  " + step + "\n";
    for (const auto& link : network_.links()) out += describe(*link);
    for (const auto& session : client_->sessions()) out += describe("client", *session);
    for (const auto& session : server_->sessions()) out += describe("server", *session);
    return out;
}

Bulk start_bulk(Scenario& scenario, const BulkOptions& options) {
    Bulk bulk;
    bulk.bytes = options.bytes;
    bulk.sender = std::make_shared<Sender>(Sender::Options{.bytes = options.bytes,
                                                           .kind = options.kind,
                                                           .close_when_delivered = options.close_when_delivered,
                                                           .late = options.writer_late});
    bulk.receiver = std::make_shared<Receiver>(options.reader);
    scenario.note("server listens; client connects and sends " + std::to_string(options.bytes) + " bytes on " +
                  (options.kind == StreamKind::unordered ? "an unordered" : "an ordered") + " stream");
    scenario.server().listen(16, [receiver = bulk.receiver](proto::Connection&) { return receiver; });
    scenario.client().connect(scenario.server().address(), bulk.sender);
    return bulk;
}

}  // namespace udtx::sim

#include "sim/incast.hpp"

#include <algorithm>
#include <cassert>

#include "sim/fairness.hpp"

namespace udtx::sim {

namespace {
constexpr Duration kStep = std::chrono::milliseconds(100);
}

Incast::Incast(const IncastSetup& setup)
    : setup_(setup),
      config_{.congestion = setup.congestion},
      network_(events_, setup.seed),
      seeds_(Prng::derive(setup.seed, 0)) {
    assert(setup.hosts <= kMostHosts);
    server_ = host(1, 7000);
    server_->listen(setup.hosts * setup.each, [this](proto::Connection&) {
        receivers_.push_back(std::make_shared<Receiver>());
        return receivers_.back();
    });
    Link& in = network_.add_link("in", setup.line);
    Link& out = network_.add_link("out", setup.line);
    for (std::size_t i = 0; i < setup.hosts; ++i) {
        clients_.push_back(host(10 + i, 4000));
        network_.connect(clients_.back()->node(), server_->node(), {&in});
        network_.connect(server_->node(), clients_.back()->node(), {&out});
        for (std::size_t k = 0; k < setup.each; ++k) {
            senders_.push_back(std::make_shared<Sender>(Sender::Options{.bytes = setup.bytes}));
            clients_.back()->connect(server_->address(), senders_.back());
        }
    }
}

std::unique_ptr<SimHost> Incast::host(std::size_t last, std::uint16_t port) {
    return std::make_unique<SimHost>(events_, network_,
                                     HostSetup{.name = "host " + std::to_string(last),
                                               .address = make_address(static_cast<std::uint8_t>(last), port),
                                               .config = config_,
                                               .seed = seeds_.next(),
                                               .provider = &shared_kit().provider(),
                                               .handshakes = &shared_kit().handshakes()});
}

void Incast::run(Duration at_most) {
    while (elapsed() < at_most && finished() < size()) events_.run_until(events_.now() + kStep);
}

std::size_t Incast::finished() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(senders_, [](const auto& s) { return s->delivered_at().has_value(); }));
}

std::size_t Incast::intact() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(receivers_, [this](const auto& r) { return r->complete(setup_.bytes); }));
}

double Incast::fairness() const {
    std::vector<double> speeds;
    for (const auto& sender : senders_) {
        if (sender->delivered_at()) speeds.push_back(1.0 / to_seconds(*sender->delivered_at() - kStart));
    }
    return jain(speeds);
}

Duration Incast::finished_at(double part) const {
    std::vector<Duration> times;
    for (const auto& sender : senders_) {
        if (sender->delivered_at()) times.push_back(*sender->delivered_at() - kStart);
    }
    std::ranges::sort(times);
    return times.empty() ? Duration() : times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
}

}  // namespace udtx::sim

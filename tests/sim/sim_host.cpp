#include "sim/sim_host.hpp"

#include <vector>

namespace udtx::sim {

SimHost::SimHost(EventQueue& events, Network& network, HostSetup setup, const HostNoise& noise)
    : ProtocolHost(setup),
      events_(events),
      network_(network),
      noise_(noise),
      prng_(Prng::derive(setup.seed, 1)),
      node_(network.add_node(setup.name, setup.address, this)) {}

bool SimHost::away(double chance) {
    const Instant now = events_.now();
    if (now > away_until_ && prng_.chance(chance)) {
        const auto spread = static_cast<std::uint64_t>((noise_.most - noise_.least).count()) + 1;
        away_until_ = now + noise_.least + Duration(static_cast<Duration::rep>(prng_.below(spread)));
    }
    return now < away_until_;
}

void SimHost::on_datagram(Instant now, const Address& local, const Address& remote, std::span<std::byte> data,
                          proto::Ecn ecn) {
    if (asleep()) return;
    if (!away(noise_.late)) {
        receive(local, remote, data, now, ecn);
        return;
    }
    events_.call_at(away_until_,
                    [this, now, local, remote, ecn, kept = std::vector(data.begin(), data.end())]() mutable {
                        receive(local, remote, kept, now, ecn);
                    });
}

void SimHost::on_due(Instant /*now*/, std::uint64_t tag) {
    if (asleep()) {
        events_.schedule(asleep_until_, *this, tag);
    } else if (away(noise_.late)) {
        events_.call_at(away_until_, [this, tag] { on_alarm(tag); });
    } else {
        on_alarm(tag);
    }
}

void SimHost::send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn ecn) {
    if (asleep()) return;
    if (!away(noise_.interrupted)) {
        network_.send(node_, from, to, datagram, ecn);
        return;
    }
    events_.call_at(away_until_, [this, from, to, ecn, kept = std::vector(datagram.begin(), datagram.end())] {
        network_.send(node_, from, to, kept, ecn);
    });
}

void SimHost::call_at(Instant at, std::function<void()> action) {
    events_.call_at(at, [this, action = std::move(action)]() mutable {
        if (asleep()) {
            call_at(asleep_until_, std::move(action));
        } else {
            action();
        }
    });
}

}  // namespace udtx::sim

// Cost of an acknowledgement at the sender, with 10^5 packets in flight.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>

#include "base/containers.hpp"
#include "recovery/loss_recovery.hpp"
#include "sim/prng.hpp"

namespace udtx::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kInFlight = 100'000;
constexpr Duration kSpacing = 1us;

/// Sender and receiver of one packet-number space. A packet is acknowledged kInFlight x kSpacing after it was sent.
class Flow {
  public:
    explicit Flow(double loss) : loss_(loss) {
        while (recovery_.packets_in_flight() < kInFlight) send();
    }

    /// Sends `packets` new packets. As many older ones arrive or are lost, and one ACK frame reports them.
    void round(std::uint64_t packets) {
        for (std::uint64_t i = 0; i < packets; ++i, ++arriving_) {
            send();
            if (!lots_.chance(loss_)) received_.insert(arriving_, arriving_ + 1);
        }
        acknowledge();
    }

  private:
    void send() {
        recovery::SentPacket packet;
        packet.number = recovery_.next_number();
        packet.sent = now_ += kSpacing;
        packet.bytes = 1472;
        packet.ack_eliciting = packet.in_flight = true;
        recovery_.on_sent(packet);
    }

    /// Acknowledges the newest ranges, at most kRanges.
    void acknowledge() {
        const auto intervals = received_.intervals();
        frame_.count = std::min(intervals.size(), kRanges);
        for (std::size_t i = 0; i < frame_.count; ++i) {
            const Range range = intervals[intervals.size() - 1 - i];
            frame_.ranges[i] = {range.begin, range.end - 1};
        }
        if (received_.count() > kRanges) received_.erase(0, frame_.ranges[frame_.count - 1].first);
        if (frame_.count > 0 && !recovery_.on_ack(now_, frame_, 0ms, out_)) std::abort();
    }

    static constexpr std::size_t kRanges = 64;

    double loss_;
    sim::Prng lots_{1};
    recovery::LossRecovery recovery_{25ms};
    recovery::Outcome out_;
    wire::AckFrame frame_;
    RangeSet received_;
    PacketNumber arriving_ = 0;
    Instant now_{1h};
};

/// Time per packet with range(0) packets per ACK and a loss of range(1) %. It includes sending and the receiver's range
/// set.
void packet_until_acknowledged(benchmark::State& state) {
    Flow flow(static_cast<double>(state.range(1)) / 100.0);
    const auto packets = static_cast<std::uint64_t>(state.range(0));
    for (std::uint64_t warm = 0; warm < kInFlight; warm += packets) flow.round(packets);
    for ([[maybe_unused]] auto _ : state) flow.round(packets);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(packet_until_acknowledged)->Args({32, 0})->Args({32, 5})->Args({256, 0})->Args({256, 5});

}  // namespace
}  // namespace udtx::bench

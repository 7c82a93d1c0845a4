// Models a sender, several paths of given rate and delay, and a receiver with a bounded reordering buffer, in virtual
// time and without a protocol. It shows what schedulers, status monitor and reinjector do. Windows are fixed and
// recovery is ideal: the sender learns of a loss when the acknowledgement would have arrived. So two runs differ only
// in their policy.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/containers.hpp"
#include "multipath/reinjector.hpp"
#include "multipath/transmission_record.hpp"
#include "sim/event_queue.hpp"
#include "sim/prng.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath::test {

struct ModelPath {
    double mbps = 100.0;
    Duration rtt = std::chrono::milliseconds(10);
    double window_packets = 0.0;  ///< 0: twice the bandwidth-delay product
    /// Delay that is added in the forward direction at `seconds` after the start.
    std::function<Duration(double seconds)> extra_delay{};
    /// Rate of other traffic through the path's queue, Mbit/s.
    std::function<double(double seconds)> cross_mbps{};
    std::function<double(double seconds)> loss{};
    Duration jitter{};  ///< uniform, reorders
};

struct ModelOptions {
    std::string scheduler = "eds";
    bool reinject = true;
    StreamKind kind = StreamKind::ordered;
    double receive_packets = 3000.0;  ///< W
    std::uint64_t total_bytes = 0;    ///< 0: endless
    double seconds = 10.0;
    std::uint64_t seed = 1;
};

struct ModelResult {
    double mbps = 0.0;                   ///< delivered, mean over all but the first second
    std::vector<double> mbps_by_second;  ///< delivered
    std::optional<double> completed;     ///< s, when all of `total_bytes` had arrived
    double max_held = 0.0;               ///< packets in the reordering buffer
    double mean_held = 0.0;              ///< mean over arrivals
    double duplicate_share = 0.0;        ///< bytes sent again (copies and probes) over all bytes
    std::vector<std::uint64_t> sent;     ///< bytes per path
    std::vector<double> sent_last;       ///< s, when each path last got new bytes
    std::uint64_t copies = 0;
    double alarm_seconds = 0.0;
};

class Model final : sim::EventSink {
  public:
    static constexpr std::uint32_t kPacket = 1500;

    Model(const ModelOptions& options, std::vector<ModelPath> paths);
    ModelResult run();

  private:
    struct Packet {
        std::size_t path = 0;
        Range range;
        RecordRef ref;
        Instant sent;
        bool arrives = true;
        bool duplicate = false;
        bool tracked = false;          ///< `ref` is valid
        std::uint64_t data_acked = 0;  ///< in an acknowledgement
    };
    struct PathState {
        ModelPath config;
        double window = 0.0;  ///< bytes
        std::uint64_t in_flight = 0;
        double backlog = 0.0;  ///< bytes in the queue at `backlog_at`
        Instant backlog_at;
        Instant departure;  ///< next departure of the pacer
        Instant last_arrival;
        double smoothed_rtt = 0.0;
        double min_rtt = 0.0;
    };

    void on_due(Instant now, std::uint64_t tag) override;
    void on_arrival(std::uint64_t index);
    void on_ack(std::uint64_t index);
    void pump();
    bool reinject();
    bool send_new();
    void send(std::size_t path, Range range, bool duplicate, std::optional<RecordRef> ref, bool again);
    [[nodiscard]] Duration transit(PathState& path);
    void refresh();
    [[nodiscard]] double seconds() const { return to_seconds(queue_.now() - sim::kStart); }

    ModelOptions options_;
    sim::EventQueue queue_;
    sim::Prng random_;
    std::vector<PathState> paths_;
    std::vector<PathView> views_;
    StreamDemand demand_;
    std::unique_ptr<PathScheduler> scheduler_;
    TransmissionRecord record_;
    StatusMonitor monitor_;
    DuplicateBudget budget_;
    Reinjector reinjector_{budget_};

    std::deque<Packet> packets_;
    std::uint64_t end_ = 0;  // end of the stream
    RangeSet assigned_;
    RangeSet lost_;
    RangeSet acked_;
    RangeSet received_;
    Range newest_;
    std::optional<Instant> pump_at_;
    std::uint64_t bytes_ = 0;
    std::uint64_t duplicate_bytes_ = 0;
    double held_sum_ = 0.0;
    std::uint64_t arrivals_ = 0;
    std::optional<Instant> alarm_since_;
    ModelResult result_;
};

}  // namespace udtx::multipath::test

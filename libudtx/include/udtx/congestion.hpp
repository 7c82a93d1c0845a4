// The interface of a congestion controller, and what packet pairs and trains tell it about the path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx {

// Probes of a path: packet pairs and packet trains. Their packets are sent back to back.
//
// Two packets that queue together at the slowest link leave it with a gap of one transmission time (packet pairs: Gu
// and Grossman, UDT, 2007). The receiver measures this gap and reports it with its acknowledgements. The transport
// makes a LineEstimate from each report. "Line" in these names means the bottleneck link of the path. All rates count
// UDP payload.

inline constexpr std::uint32_t kPairPackets = 2;  ///< packets of a pair
/// Packets of the shortest train. Time stamp errors would blur shorter ones.
inline constexpr std::uint32_t kLeastTrainPackets = 8;
/// Packets of the first train, and the limit while each packet has its own stamp.
inline constexpr std::uint32_t kUsualTrainPackets = 16;
inline constexpr std::uint32_t kMostTrainPackets = 64;  ///< packets of the longest train
/// Maximum time for which a train may occupy the link, since other flows wait during it.
inline constexpr Duration kTrainTime = std::chrono::milliseconds(1);

/// Returns the number of packets of a probe on a link that needs `packet_time` seconds for one packet (0: unknown). The
/// result is the longest train that fits into kTrainTime, or a pair if no train fits. `granularity` is that of the
/// receiver's arrival times: a train may last four times as long as that, but at least kTrainTime and at most twice
/// kTrainTime.
[[nodiscard]] constexpr std::uint32_t fitting_probe(double packet_time, Duration granularity = {}) noexcept {
    if (packet_time <= 0.0) return kUsualTrainPackets;
    const Duration time = std::clamp(4 * granularity, kTrainTime, 2 * kTrainTime);
    const double fit = to_seconds(time) / packet_time;
    if (fit < kLeastTrainPackets) return kPairPackets;
    const std::uint32_t most = granularity > Duration::zero() ? kMostTrainPackets : kUsualTrainPackets;
    return static_cast<std::uint32_t>(std::min(fit, static_cast<double>(most)));
}

/// The estimate of the bottleneck link after one report of the receiver.
struct LineEstimate {
    Rate capacity{};  ///< capacity of the link; zero: unknown
    /// True if `capacity` is only a lower bound: trains arrive as fast as they were sent, or `error` is 1, for example
    /// because interrupt coalescing of the receiver's network card hides their length.
    bool only_least = false;
    /// Relative error of `capacity`: half the width of its uncertainty interval, divided by `capacity`, 0 to 1. If it
    /// is 1 and `granularity` is zero, the path delays packets in an irregular way: the bursts of a train do not lie on
    /// a straight line of bytes over time.
    double error = 0.0;
    /// Mean time between bursts, that is, groups of packets with a common receive time stamp. Zero: each packet has its
    /// own stamp.
    Duration granularity{};
    Rate pair_capacity{};      ///< UDT's capacity: mean of the pairs near their median; zero: unknown
    Rate newest_pair{};        ///< rate of the newest pair alone; zero: no pair since the last report
    double arrival_pps = 0.0;  ///< packets/s at which packets of this end arrive at the receiver; 0: unknown
};

// The interface of a congestion controller.
//
// One controller object serves one path. The transport calls on_sent() for each packet that counts as in flight, and
// on_feedback() once for each ACK frame or time-out. The controller answers through window() and pacing_rate(). It
// receives times and a seed from outside: it reads no clock and no random source.

/// A packet that is sent and counts as in flight.
struct CongestionSent {
    Instant now;                         ///< send time
    PacketNumber number = 0;             ///< packet number
    std::uint32_t bytes = 0;             ///< UDP payload of the packet, bytes
    std::uint64_t in_flight_before = 0;  ///< bytes in flight without this packet
};

/// One lost packet, or one that arrived with a CE mark. A mark asks for the same reaction as a loss (RFC 3168, section
/// 5; RFC 9002, section 7.1).
struct CongestionLost {
    PacketNumber number = 0;  ///< packet number
    std::uint32_t bytes = 0;  ///< UDP payload of the packet, bytes
    Instant sent;             ///< send time
    /// True: the packet arrived, marked by a router whose queue is too long, so the cause is congestion. The peer only
    /// counts marks: the first packets of an ACK stand for those that were marked.
    bool marked = false;
};

/// The one-way delay of one packet.
struct ArrivalSample {
    PacketNumber number = 0;  ///< packet number
    Instant sent;             ///< send time
    Duration delay{};  ///< receive time minus send time; has an unknown constant offset, as the two clocks differ
};

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
struct DeliverySample {
    Rate rate;                         ///< delivery rate of UDP payload
    Duration interval{};               ///< length of the measured interval
    bool application_limited = false;  ///< true: the sender had nothing to send for part of the interval
};

/// The changes that one ACK frame or one time-out caused.
struct CongestionFeedback {
    Instant now;                      ///< time of the feedback
    std::uint64_t acked_bytes = 0;    ///< newly acknowledged UDP payload, bytes
    std::uint32_t acked_packets = 0;  ///< newly acknowledged packets
    /// Largest number of the newly acknowledged packets; meaningless if there are none.
    PacketNumber largest_acked = 0;
    /// Time between the send times of two packets: the first and the last newly acknowledged packet whose number is
    /// above the largest one acknowledged before.
    Duration acked_span{};
    /// Mean of `acked_span` if ACKs are sparse (docs/inside/acknowledgements.md), else zero. Always zero unless
    /// CongestionReport::counts_acks is set.
    Duration ack_spacing{};
    PacketNumber largest_sent = 0;          ///< largest packet number sent on this path
    std::vector<CongestionLost> lost;       ///< newly lost or marked packets, in ascending order
    std::uint64_t in_flight_before = 0;     ///< bytes in flight before this feedback
    std::uint64_t in_flight_after = 0;      ///< bytes in flight after this feedback
    std::optional<Duration> rtt_sample;     ///< RTT sample without the acknowledgement delay
    Duration smoothed_rtt{};                ///< smoothed RTT, RFC 9002, section 5.3
    Duration rtt_variance{};                ///< RTT variance, RFC 9002, section 5.3
    Duration min_rtt{};                     ///< smallest RTT sample
    std::optional<Duration> one_way_delay;  ///< delay of `largest_acked`, see ArrivalSample::delay
    /// Delays of some acknowledged packets, in ascending order. The packets at both sides of each gap are included.
    std::vector<ArrivalSample> arrivals;
    std::optional<DeliverySample> delivery;  ///< new delivery sample, if there is one
    std::optional<LineEstimate> line;        ///< new estimate of the link, if the receiver sent a report
    std::uint64_t free_window = 0;           ///< bytes that flow control still allows
    bool application_limited = false;  ///< true: the sender had nothing to send for part of the interval of `delivery`
    bool persistent_timeout = false;   ///< UDT's EXP event: the controller treats all packets in flight as lost
};

/// Limits of a path that do not result from congestion.
struct PathLimits {
    std::uint32_t datagram_bytes = 1200;  ///< UDP payload of a full datagram, bytes
    Rate max_rate = Rate::infinite();     ///< cap of the sending rate; the transport enforces it in any case
    Rate min_rate{};                      ///< floor of the sending rate; the policies apply it; zero: no floor
};

/// What a connection measured of a path. A later connection to the same peer between the same two addresses may start
/// with it, by the rules of Careful Resume (draft-ietf-tsvwg-careful-resume).
struct KnownPath {
    /// Time for which it may be recalled.
    static constexpr Duration kLife = std::chrono::minutes(10);
    /// UDP payload that the path delivered in steady state. Zero: what an earlier connection measured is wrong now.
    Rate capacity{};
    Duration base_rtt{};  ///< RTT without a queue
    Duration jitter{};    ///< what jitter adds to delays if it hides the queue, else zero
    Instant measured{};   ///< time of the last measurement
};

/// The state of a controller, for reports. The transport itself uses only `slow_start` and `counts_acks`.
struct CongestionReport {
    /// Maximum transfer rate (MTR): the capacity of the bottleneck link, measured with packet pairs and trains; zero:
    /// unknown. If trains arrive as fast as they were sent, `udtx` reports the largest delivery rate if that is larger.
    Rate mtr;
    Rate available;                  ///< available bandwidth: MTR minus the sending rate
    double congestion_degree = 0.0;  ///< congestion degree (CD), 0 to 1; 0 if the controller has none
    bool slow_start = false;         ///< true: the controller has not found its rate yet
    /// True if the controller counts acknowledgements. If ACKs are far apart, the transport then splits one ACK into
    /// many feedbacks during slow start. The transport reads this once, when it makes the controller.
    bool counts_acks = false;
};

/// Decides how many bytes may be in flight on one path, and how fast packets leave. The protocol thread makes all
/// calls. It calls on_sent() and on_feedback() in the order of the events, and on_limits() and the const functions at
/// any time. Every call must return soon. An exception of any type ends the connection with `internal`, but a
/// lack of memory ends it with `network`.
class UDTX_EXPORT CongestionController {
  public:
    virtual ~CongestionController() = default;
    /// A packet is sent.
    virtual void on_sent(const CongestionSent& /*packet*/) {}
    /// An ACK frame arrived, or a time-out passed.
    virtual void on_feedback(const CongestionFeedback& feedback) = 0;
    /// A limit has changed. CongestionOptions has the first limits. Override this function if the controller counts in
    /// datagrams or uses the cap.
    virtual void on_limits(const PathLimits& /*limits*/) {}
    /// Congestion window: bytes that may be in flight.
    [[nodiscard]] virtual std::uint64_t window() const = 0;
    /// Rate at which packets are sent; infinite: no pacing.
    [[nodiscard]] virtual Rate pacing_rate() const = 0;
    /// Number of packets that are sent back to back as the next probe: kPairPackets, or a train of up to
    /// kMostTrainPackets.
    [[nodiscard]] virtual std::uint32_t probe_packets() const { return kPairPackets; }
    /// State of the controller.
    [[nodiscard]] virtual CongestionReport report() const { return {}; }
    /// Passes on what an earlier connection measured of this path, before most of its packets leave. It is a hint: the
    /// path may have changed. `rtt`: RTT of this connection's handshake; zero: unknown.
    virtual void recall(const KnownPath& /*path*/, Duration /*rtt*/) {}
    /// What a later connection may recall; nullopt: nothing new.
    [[nodiscard]] virtual std::optional<KnownPath> known_path() const { return std::nullopt; }
};

/// The share of a link that a flow takes beside other flows.
enum class Policy : std::uint8_t {
    fair,   ///< the share of the controller
    high,   ///< the share of two flows
    low,    ///< only bandwidth that other flows leave; a special controller replaces the named one
    fixed,  ///< sends at max_rate, regardless of losses
};

/// How the congestion controllers of the paths of one connection depend on each other.
enum class Coupling : std::uint8_t {
    none,    ///< each path is an independent flow
    detect,  ///< paths with a detected common bottleneck together take the share of one flow
    lia,     ///< LIA (RFC 6356) replaces the named controller
};

/// Settings for a new controller.
struct CongestionOptions {
    std::uint32_t datagram_bytes = 1200;    ///< UDP payload of a full datagram at the start, bytes
    std::uint64_t max_window = 64U << 20U;  ///< upper limit of window(), bytes
    std::uint64_t seed = 1;                 ///< seed for controllers that need random numbers (UDT's DecRandom)
    Rate max_rate = Rate::infinite();       ///< cap of this path
    /// The transport wraps the controller in this policy, so the controller may ignore it.
    Policy policy = Policy::fair;
    Rate min_rate{};  ///< floor of this path; zero: no floor
};

/// Makes a controller of the program (TransportConfig::congestion_factory). The protocol thread calls it for each path,
/// and again when the peer of a path has moved to another network. The check of a configuration calls it once more, on
/// the calling thread. If it returns null or throws, the check fails with invalid_argument; on the protocol thread the
/// connection ends.
using CongestionFactory = std::function<std::unique_ptr<CongestionController>(const CongestionOptions&)>;

/// Makes the built-in controller `name`, wrapped in the policy. invalid_argument: the name is unknown; the message
/// lists all names.
[[nodiscard]] UDTX_EXPORT Result<std::unique_ptr<CongestionController>> make_congestion_controller(
    std::string_view name, const CongestionOptions& options);
/// Names of the built-in controllers.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> congestion_controller_names();

}  // namespace udtx

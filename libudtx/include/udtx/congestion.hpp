// The interface of a congestion controller.
//
// One controller object serves one path. The transport calls on_sent() for each packet that counts as in flight, and
// on_feedback() once for each ACK frame or time-out. The controller answers by window() and pacing_rate(). It is given
// times and a seed; it reads no clock and draws no randomness of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/probing.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// A packet that leaves, and counts as in flight.
struct CongestionSent {
    Instant now;                         ///< when it leaves
    PacketNumber number = 0;             ///< its number
    std::uint32_t bytes = 0;             ///< of UDP payload
    std::uint64_t in_flight_before = 0;  ///< bytes, without this packet
};

/// One lost packet.
struct CongestionLost {
    PacketNumber number = 0;  ///< its number
    std::uint32_t bytes = 0;  ///< of UDP payload
    Instant sent;             ///< when it left
};

/// One-way delay of one packet.
struct ArrivalSample {
    PacketNumber number = 0;  ///< its number
    Instant sent;             ///< when it left
    Duration delay{};         ///< receive stamp less send stamp, with an unknown constant: the clocks differ
};

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
struct DeliverySample {
    Rate rate;                         ///< of UDP payload
    Duration interval{};               ///< in which it was measured
    bool application_limited = false;  ///< the sender had nothing to send for part of the interval
};

/// What one ACK frame or one time-out has changed.
struct CongestionFeedback {
    Instant now;                       ///< when it is told
    std::uint64_t acked_bytes = 0;     ///< of UDP payload, newly acknowledged
    std::uint32_t acked_packets = 0;   ///< newly acknowledged
    PacketNumber largest_acked = 0;    ///< of those; meaningless if there are none
    Duration acked_span{};             ///< between the send times of the first and the last packet beyond the last ACK
    Duration ack_spacing{};            ///< mean of `acked_span` where ACKs are sparse (counts_acks), else zero
    PacketNumber largest_sent = 0;     ///< largest number sent on this path
    std::vector<CongestionLost> lost;  ///< newly lost packets, by ascending number
    std::uint64_t in_flight_before = 0;     ///< bytes
    std::uint64_t in_flight_after = 0;      ///< bytes
    std::optional<Duration> rtt_sample;     ///< without the delay of the acknowledgement
    Duration smoothed_rtt{};                ///< RFC 9002, section 5.3
    Duration rtt_variance{};                ///< RFC 9002, section 5.3
    Duration min_rtt{};                     ///< least sample
    std::optional<Duration> one_way_delay;  ///< of `largest_acked`, as ArrivalSample::delay
    std::vector<ArrivalSample> arrivals;    ///< of some acknowledged packets, both sides of each gap; ascending numbers
    std::optional<DeliverySample> delivery;  ///< if there is a new one
    std::optional<LineEstimate> line;        ///< if the receiver has reported
    std::uint64_t free_window = 0;           ///< bytes that flow control still allows
    bool application_limited = false;        ///< the sender had nothing to send for part of the interval
    bool persistent_timeout = false;         ///< EXP event of UDT: consider all in flight lost
};

/// Limits of a path beside its congestion.
struct PathLimits {
    std::uint32_t datagram_bytes = 1200;  ///< bytes of UDP payload of a full datagram
    Rate max_rate = Rate::infinite();     ///< cap, which the transport keeps in any case
    Rate min_rate{};                      ///< floor, which the policies keep; zero: none
};

/// The state of a controller, for reports. The transport itself looks at `slow_start` and `counts_acks`.
struct CongestionReport {
    /// Maximum transfer rate: capacity of the line by packet pairs and trains; zero: unknown. Where trains arrive as
    /// fast as they leave, `udtx` gives the largest delivery rate if that is larger.
    Rate mtr;
    Rate available;                  ///< available bandwidth: MTR less sending rate
    double congestion_degree = 0.0;  ///< CD, 0 to 1; 0 if the controller has none
    bool slow_start = false;         ///< it has not found its rate yet
    /// It counts acknowledgements: where ACKs are far apart, it is told of their packets one by one during slow start.
    /// The transport asks once, when the controller is made.
    bool counts_acks = false;
};

/// Decides how much may be in flight on one path, and how fast it leaves. All calls come on the protocol thread:
/// on_sent() and on_feedback() in the order of what happens, on_limits() and the questions at any time. They return
/// soon. An exception of any type ends the connection with `internal`; a lack of memory ends it with `network`.
class UDTX_EXPORT CongestionController {
  public:
    virtual ~CongestionController() = default;
    /// A packet leaves.
    virtual void on_sent(const CongestionSent& /*packet*/) {}
    /// An ACK frame came, or a time-out passed.
    virtual void on_feedback(const CongestionFeedback& feedback) = 0;
    /// A limit has changed; the first limits are in CongestionOptions. Override it to count in datagrams or to use the
    /// cap.
    virtual void on_limits(const PathLimits& /*limits*/) {}
    /// Bytes that may be in flight.
    [[nodiscard]] virtual std::uint64_t window() const = 0;
    /// Rate at which packets leave; infinite: no pacing.
    [[nodiscard]] virtual Rate pacing_rate() const = 0;
    /// Packets that leave back to back as the next probe of the line: kPairPackets, or a train of up to
    /// kMostTrainPackets.
    [[nodiscard]] virtual std::uint32_t probe_packets() const { return kPairPackets; }
    /// Its state.
    [[nodiscard]] virtual CongestionReport report() const { return {}; }
};

/// Share that a flow takes beside others.
enum class Policy : std::uint8_t {
    fair,   ///< as the controller takes
    high,   ///< like two flows
    low,    ///< what others leave; a controller of its own takes the place of the named one
    fixed,  ///< max_rate, whatever is lost
};

/// How the paths of one connection take account of each other.
enum class Coupling : std::uint8_t {
    none,    ///< each path is a flow of its own
    detect,  ///< paths that are seen to share a bottleneck take one flow's share of it
    lia,     ///< LIA (RFC 6356) in place of the named controller
};

/// What a controller is made with.
struct CongestionOptions {
    std::uint32_t datagram_bytes = 1200;    ///< bytes of UDP payload of a full datagram at the start
    std::uint64_t max_window = 64U << 20U;  ///< bytes; upper bound of window()
    std::uint64_t seed = 1;                 ///< for controllers that need random numbers (UDT's DecRandom)
    Rate max_rate = Rate::infinite();       ///< cap of this path
    Policy policy = Policy::fair;           ///< the transport lays it around the controller, which may ignore it
    Rate min_rate{};                        ///< floor of this path; zero: none
};

/// Makes a controller of the program's own (TransportConfig::congestion_factory), one for each path, on the protocol
/// thread. The check of a configuration makes one more, on the calling thread; there null or an exception is
/// invalid_argument, later it ends the connection.
using CongestionFactory = std::function<std::unique_ptr<CongestionController>(const CongestionOptions&)>;

/// Makes the built-in controller called `name`, with the policy around it. invalid_argument: there is none; the message
/// names them all.
[[nodiscard]] UDTX_EXPORT Result<std::unique_ptr<CongestionController>> make_congestion_controller(
    std::string_view name, const CongestionOptions& options);
/// Names of the built-in controllers.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> congestion_controller_names();

}  // namespace udtx

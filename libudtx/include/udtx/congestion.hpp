// Contract between the transport and a congestion controller.
//
// One controller object serves one path. The transport calls on_sent for every in-flight packet, then on_feedback
// once per ACK frame or timeout with everything that it changed. A controller only reports window() and
// pacing_rate(); it never writes its owner's state. Times are handed in, randomness comes through the constructor.
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

/// A packet that counts as in flight, at the moment it leaves.
struct CongestionSent {
    Instant now;
    PacketNumber number = 0;
    std::uint32_t bytes = 0;             ///< UDP payload
    std::uint64_t in_flight_before = 0;  ///< bytes
};

/// One lost packet.
struct CongestionLost {
    PacketNumber number = 0;
    std::uint32_t bytes = 0;
    Instant sent;
};

/// One-way delay of one packet.
struct ArrivalSample {
    PacketNumber number = 0;
    Instant sent;
    Duration delay{};  ///< receive stamp - send stamp; the clocks' difference is unknown, and constant but for drift
};

/// Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation).
struct DeliverySample {
    Rate rate;
    Duration interval{};
    bool application_limited = false;
};

/// All that one ACK frame or one timeout changed.
struct CongestionFeedback {
    Instant now;
    std::uint64_t acked_bytes = 0;
    std::uint32_t acked_packets = 0;
    PacketNumber largest_acked = 0;    ///< meaningful when acked_packets > 0
    Duration acked_span{};             ///< between the send times of the first and last of those beyond the last ACK
    Duration ack_spacing{};            ///< mean of those spans where they are sparse and are counted, else zero
    PacketNumber largest_sent = 0;     ///< largest packet number sent so far on this path
    std::vector<CongestionLost> lost;  ///< ascending packet numbers
    std::uint64_t in_flight_before = 0;
    std::uint64_t in_flight_after = 0;
    std::optional<Duration> rtt_sample;  ///< ack delay removed
    Duration smoothed_rtt{};
    Duration rtt_variance{};
    Duration min_rtt{};
    std::optional<Duration> one_way_delay;  ///< receive stamp - send stamp of largest_acked; unknown constant offset
    std::vector<ArrivalSample> arrivals;    ///< ascending numbers; some of those acknowledged, both sides of each gap
    std::optional<DeliverySample> delivery;
    std::optional<LineEstimate> line;  ///< with a report of the receiver
    std::uint64_t free_window = 0;     ///< bytes that flow control would still let us send
    bool application_limited = false;  ///< the sender had nothing to send for part of the interval
    bool persistent_timeout = false;   ///< EXP: a probe timeout, all in flight is to be considered lost
};

/// What bounds a path beside its congestion.
struct PathLimits {
    std::uint32_t datagram_bytes = 1200;  ///< UDP payload of a full datagram
    Rate max_rate = Rate::infinite();     ///< the user's cap. The transport paces by it in any case
    Rate min_rate{};                      ///< the user's floor, which the policies see to; zero: none
};

/// How a controller stands. For reports, but for what is said to be asked by the transport.
struct CongestionReport {
    /// Maximum transfer rate: the line's, seen by packet pairs and trains, 0 = unknown. `udtx`: where trains arrive as
    /// fast as they leave, the most that was delivered if that is more.
    Rate mtr;
    Rate available;                  ///< ABW = MTR - sending rate
    double congestion_degree = 0.0;  ///< CD in 0..1, 0 if the controller has none
    bool slow_start = false;         ///< it has not found its rate yet; the transport asks
    /// Its window grows with each acknowledgement, and what that releases leaves at once: where ACKs are far apart it
    /// is to hear of their packets one by one while it finds out how much it may send. The transport asks once, when
    /// the controller has been made.
    bool counts_acks = false;
};

/// Order of calls: on_sent() and on_feedback() in the order in which things happen; on_limits() at any time between;
/// the questions as often as the transport likes. All on the protocol thread. No call may throw: what comes out all the
/// same ends the connection.
class UDTX_EXPORT CongestionController {
  public:
    virtual ~CongestionController() = default;
    virtual void on_sent(const CongestionSent& /*packet*/) {}
    virtual void on_feedback(const CongestionFeedback& feedback) = 0;
    /// One of the limits changed; the first ones came with CongestionOptions. To be overridden by a controller that
    /// counts in datagrams or uses the cap itself.
    virtual void on_limits(const PathLimits& /*limits*/) {}
    /// Bytes that may be in flight.
    [[nodiscard]] virtual std::uint64_t window() const = 0;
    /// Rate at which packets leave; infinite when the controller does not pace.
    [[nodiscard]] virtual Rate pacing_rate() const = 0;
    /// Packets that leave back to back as the next probe of the line: a pair or, up to kMostTrainPackets, a train.
    [[nodiscard]] virtual std::uint32_t probe_packets() const { return kPairPackets; }
    [[nodiscard]] virtual CongestionReport report() const { return {}; }
};

/// What the user wants of a flow beside others.
enum class Policy : std::uint8_t {
    fair,   ///< as the controller does
    high,   ///< like two flows
    low,    ///< what others leave; a control of its own in place of the named one
    fixed,  ///< the cap is the rate, whatever happens
};

/// How the paths of one connection take account of each other.
enum class Coupling : std::uint8_t {
    none,    ///< each path is a flow of its own
    detect,  ///< paths that are seen to share a bottleneck take one flow's share of it
    lia,     ///< LIA (RFC 6356) in place of the named controller
};

/// What a controller of one path is made with.
struct CongestionOptions {
    std::uint32_t datagram_bytes = 1200;    ///< UDP payload at the start
    std::uint64_t max_window = 64U << 20U;  ///< upper bound of window(), bytes
    std::uint64_t seed = 1;                 ///< for controllers that draw random numbers (UDT's DecRandom)
    Rate max_rate = Rate::infinite();       ///< user's cap (--rate)
    Policy policy = Policy::fair;           ///< is laid around the controller, which need not look at it
    Rate min_rate{};                        ///< floor, whatever the controller says; zero: none
};

/// Makes a controller of one's own (TransportConfig::congestion_factory): one for each path, on the protocol thread;
/// one more where the configuration is checked, on the thread that hands it in. Null and exceptions are errors: of the
/// configuration where it is checked, later they end the connection.
using CongestionFactory = std::function<std::unique_ptr<CongestionController>(const CongestionOptions&)>;

/// Creates the built-in controller called `name` ("udt"), with the policy around it, as of a path by itself;
/// invalid_argument names the known ones.
[[nodiscard]] UDTX_EXPORT Result<std::unique_ptr<CongestionController>> make_congestion_controller(
    std::string_view name, const CongestionOptions& options);
[[nodiscard]] UDTX_EXPORT std::vector<std::string> congestion_controller_names();

}  // namespace udtx

// A greedy TCP flow between two nodes of its own, simulated packet by packet: Linux BBR competing with our flows.
//
// The sink acknowledges every segment by its number (SACK without delayed acknowledgements). A retransmission gets a
// new number. A segment is lost after three acknowledgements of later segments, or after a timeout.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/network.hpp"
#include "sim/tcp_bbr.hpp"

namespace udtx::sim {

class TcpFlow final : EventSink {
  public:
    struct Setup {
        std::string name;
        Address source;
        Address sink;
        std::uint64_t seed = 1;
    };
    struct Counters {
        std::uint64_t received = 0;  ///< stream bytes at the sink
        std::uint64_t sent_packets = 0;
        std::uint64_t lost_packets = 0;
    };
    static constexpr std::uint32_t kPayload = 1472;  ///< UDP payload of the simulated packet: 1500 bytes of IP
    static constexpr std::uint32_t kSegment = 1448;  ///< stream bytes in it: IP, TCP and time stamps take 52

    TcpFlow(EventQueue& events, Network& network, const Setup& setup);

    void start();
    void stop() { stopped_ = true; }
    [[nodiscard]] NodeId source() const noexcept { return source_.node; }
    [[nodiscard]] NodeId sink() const noexcept { return sink_.node; }
    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
    [[nodiscard]] const TcpBbr& control() const noexcept { return control_; }
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return in_flight_; }  ///< segments
    [[nodiscard]] double smoothed_rtt() const noexcept { return srtt_; }           ///< s

  private:
    struct End final : Host {
        TcpFlow* flow = nullptr;
        NodeId node = 0;
        bool is_sink = false;
        void on_datagram(Instant now, const Address& local, const Address& remote, std::span<std::byte> data,
                         proto::Ecn ecn) override;
    };
    enum class Fate : std::uint8_t { flying, acknowledged, lost };
    /// A segment and the state of the delivery-rate estimator at its departure (RFC draft-cheng-iccrg-delivery-rate).
    struct Segment {
        Instant sent;
        Instant first_sent;
        Instant delivered_at;
        std::uint64_t delivered = 0;
        bool limited = false;
        Fate fate = Fate::flying;
    };

    void on_due(Instant now, std::uint64_t tag) override;
    void on_segment(std::span<const std::byte> data);
    void on_ack(Instant now, std::uint64_t number);
    [[nodiscard]] std::uint32_t find_lost();
    [[nodiscard]] double rate_sample(Instant now, const Segment& segment);
    void follow_recovery(std::uint32_t lost);
    void update_rtt(double rtt);
    void check_timeout(Instant now);
    void send_what_fits(Instant now);
    void send_segment(Instant now);

    EventQueue& events_;
    Network& network_;
    End source_;
    End sink_;
    Address source_address_;
    Address sink_address_;
    TcpBbr control_;
    Counters counters_;
    bool stopped_ = false;

    std::deque<Segment> segments_;  // from number `first_` on
    std::uint64_t first_ = 0;
    std::uint64_t largest_acked_ = 0;
    std::uint64_t in_flight_ = 0;
    std::uint64_t delivered_ = 0;
    Instant delivered_at_;
    Instant first_sent_;
    std::uint64_t limited_until_ = 0;   // ProbeRTT limits the flow until this total of delivered segments
    std::uint64_t recovery_until_ = 0;  // segment number; its acknowledgement ends the recovery
    bool in_recovery_ = false;
    double srtt_ = 0.0;
    double rtt_variance_ = 0.0;
    Instant progress_;
    Instant next_send_;
    bool send_scheduled_ = false;
    std::vector<std::byte> data_;
};

}  // namespace udtx::sim

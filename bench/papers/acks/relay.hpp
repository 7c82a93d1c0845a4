// The two ends of a narrow link in ns-3: the acknowledgement filter in front of it, and the node behind it that
// regenerates TCP acknowledgements.
#pragma once

#include <ns3/event-id.h>
#include <ns3/ipv4-header.h>
#include <ns3/net-device.h>
#include <ns3/node.h>
#include <ns3/packet.h>
#include <ns3/queue.h>
#include <ns3/tcp-header.h>

#include <cstdint>
#include <deque>
#include <optional>

#include "recovery/ack_regenerator.hpp"

namespace udtx::papers {

enum class Scheme { normal, ar, dar };

/// ACK filtering (AF, RFC 3449, section 5.2.2): a new acknowledgement removes the older ones of its connection from the
/// queue. Repeats of the newest acknowledgement stay.
class AckFilterQueue final : public ns3::Queue<ns3::Packet> {
  public:
    static ns3::TypeId GetTypeId();
    bool Enqueue(ns3::Ptr<ns3::Packet> item) override;
    ns3::Ptr<ns3::Packet> Dequeue() override { return DoDequeue(GetContainer().begin()); }
    ns3::Ptr<ns3::Packet> Remove() override { return DoRemove(GetContainer().begin()); }
    [[nodiscard]] ns3::Ptr<const ns3::Packet> Peek() const override { return DoPeek(GetContainer().begin()); }
};

/// The node between the sender's link and the narrow link.
class AckRelay {
  public:
    AckRelay(Scheme scheme, std::uint32_t segment_bytes) : scheme_(scheme), segment_bytes_(segment_bytes) {}
    AckRelay(const AckRelay&) = delete;
    AckRelay& operator=(const AckRelay&) = delete;

    /// From now on the relay sees the data that arrive at `from_sender` and the acknowledgements at `from_receiver`.
    void attach(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> from_sender, ns3::Ptr<ns3::NetDevice> from_receiver);

    [[nodiscard]] std::uint64_t acks() const noexcept { return acks_; }  ///< acknowledgements forwarded to the sender
    [[nodiscard]] std::uint64_t made() const noexcept { return made_; }  ///< of those, made by the relay
    /// Forwarded acknowledgements that left after one with a higher number.
    [[nodiscard]] std::uint64_t overtaken() const noexcept { return overtaken_; }

  private:
    struct Ack {
        ns3::Ptr<const ns3::Packet> packet;  ///< as it arrived
        ns3::Address from;
        std::uint64_t number = 0;
    };

    bool on_data(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, std::uint16_t protocol,
                 const ns3::Address& from);
    bool on_reply(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, std::uint16_t protocol,
                  const ns3::Address& from);
    void on_ack(const Ack& ack);
    [[nodiscard]] recovery::AckRegenerator::Series series_for(std::uint64_t ack);
    [[nodiscard]] recovery::AckRegenerator::Series reconstruct(Instant now, std::uint64_t ack);
    void pass(const Ack& ack);
    void flush();
    void leave(std::uint64_t id);
    void hand_up(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, const ns3::Address& from) const;
    [[nodiscard]] std::uint64_t position(ns3::SequenceNumber32 number);

    Scheme scheme_;
    std::uint32_t segment_bytes_;
    ns3::Ptr<ns3::Node> node_;
    ns3::Ptr<ns3::NetDevice> back_;
    recovery::AckRegenerator regenerator_;
    std::optional<ns3::SequenceNumber32> origin_;
    struct Waiting {
        Ack ack;
        std::uint64_t id = 0;
        ns3::EventId event;
    };
    std::deque<Waiting> waiting_;
    std::uint64_t next_id_ = 0;

    // State of AR: newest acknowledgement, and the smoothed interval between acknowledgements.
    std::uint64_t last_ = 0;
    bool repeated_ = false;
    std::optional<Instant> last_at_;
    Duration mean_{};

    std::uint64_t highest_passed_ = 0;
    std::uint64_t acks_ = 0;
    std::uint64_t made_ = 0;
    std::uint64_t overtaken_ = 0;
};

}  // namespace udtx::papers

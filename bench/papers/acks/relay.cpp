#include "acks/relay.hpp"

#include <ns3/ipv4-l3-protocol.h>
#include <ns3/ppp-header.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <utility>

#include "ns3_host.hpp"

namespace udtx::papers {
namespace {

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint8_t kTcp = 6;
// Segments per acknowledgement that AR makes: a receiver acknowledges every second segment, and AR does not know where
// the segments end.
constexpr std::uint32_t kAckStep = 2;

struct Segment {
    ns3::Ipv4Header ip;
    ns3::TcpHeader tcp;
    std::uint32_t bytes = 0;
};

/// Expects a packet without the link's header.
std::optional<Segment> parse(const ns3::Ptr<ns3::Packet>& packet) {
    Segment s;
    if (packet->GetSize() < 40 || packet->RemoveHeader(s.ip) == 0 || s.ip.GetProtocol() != kTcp) return std::nullopt;
    packet->RemoveHeader(s.tcp);
    s.bytes = packet->GetSize();
    return s;
}

bool same_connection(const Segment& a, const Segment& b) {
    return a.ip.GetSource() == b.ip.GetSource() && a.ip.GetDestination() == b.ip.GetDestination() &&
           a.tcp.GetSourcePort() == b.tcp.GetSourcePort() && a.tcp.GetDestinationPort() == b.tcp.GetDestinationPort();
}

bool is_pure_ack(const Segment& s) { return s.bytes == 0 && s.tcp.GetFlags() == ns3::TcpHeader::ACK; }

std::optional<Segment> parse_queued(const ns3::Ptr<const ns3::Packet>& on_the_line) {
    const auto packet = on_the_line->Copy();
    ns3::PppHeader ppp;
    packet->RemoveHeader(ppp);
    auto s = parse(packet);
    if (s && !is_pure_ack(*s)) s.reset();
    return s;
}

}  // namespace

ns3::TypeId AckFilterQueue::GetTypeId() {
    static const ns3::TypeId id =
        ns3::TypeId("udtx::AckFilterQueue").SetParent<ns3::Queue<ns3::Packet>>().AddConstructor<AckFilterQueue>();
    return id;
}

bool AckFilterQueue::Enqueue(ns3::Ptr<ns3::Packet> item) {
    if (const auto newest = parse_queued(item)) {
        for (auto it = GetContainer().cbegin(); it != GetContainer().cend();) {
            const auto older = parse_queued(*it);
            const auto at = it++;
            if (older && same_connection(*older, *newest) && older->tcp.GetAckNumber() < newest->tcp.GetAckNumber()) {
                DoRemove(at);
            }
        }
    }
    return DoEnqueue(GetContainer().end(), item);
}

void AckRelay::attach(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::NetDevice> from_sender,
                      ns3::Ptr<ns3::NetDevice> from_receiver) {
    node_ = node;
    back_ = from_receiver;
    from_sender->SetReceiveCallback(ns3::MakeCallback(&AckRelay::on_data, this));
    from_receiver->SetReceiveCallback(ns3::MakeCallback(&AckRelay::on_reply, this));
}

void AckRelay::hand_up(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet,
                       const ns3::Address& from) const {
    node_->GetObject<ns3::Ipv4L3Protocol>()->Receive(device, packet, kIpv4, from, device->GetAddress(),
                                                     ns3::NetDevice::PACKET_HOST);
}

/// Bytes since the first sequence number seen. A run moves less than 2^31 bytes.
std::uint64_t AckRelay::position(ns3::SequenceNumber32 number) {
    if (!origin_) origin_ = number;
    const std::int32_t since = number - *origin_;
    return since > 0 ? static_cast<std::uint64_t>(since) : 0;
}

bool AckRelay::on_data(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, std::uint16_t protocol,
                       const ns3::Address& from) {
    if (protocol != kIpv4) return false;
    if (const auto s = parse(packet->Copy())) {
        const std::uint64_t begin = position(s->tcp.GetSequenceNumber());
        if (s->bytes > 0) regenerator_.on_data(begin, begin + s->bytes);
    }
    hand_up(device, packet, from);
    return true;
}

bool AckRelay::on_reply(ns3::Ptr<ns3::NetDevice> /*device*/, ns3::Ptr<const ns3::Packet> packet, std::uint16_t protocol,
                        const ns3::Address& from) {
    if (protocol != kIpv4) return false;
    const auto s = parse(packet->Copy());
    Ack ack{.packet = packet, .from = from, .number = 0};
    if (!s || !is_pure_ack(*s) || !origin_) {
        hand_up(back_, packet, from);
        return true;
    }
    ack.number = position(s->tcp.GetAckNumber());
    on_ack(ack);
    return true;
}

void AckRelay::on_ack(const Ack& ack) {
    if (scheme_ == Scheme::normal) {
        pass(ack);
        return;
    }
    const auto series = series_for(ack.number);
    if (scheme_ == Scheme::dar) flush();  // delayed acknowledgements leave before the new ones
    for (std::size_t i = 0; i < series.acks.size(); ++i) {
        Ack made = ack;
        made.number = series.acks[i];
        if (i + 1 < series.acks.size()) ++made_;
        if (i == 0) {
            pass(made);
            continue;
        }
        const auto wait = series.spacing * static_cast<std::int64_t>(i);
        const auto event = ns3::Simulator::Schedule(ns3::NanoSeconds(wait.count()), &AckRelay::leave, this, next_id_);
        waiting_.push_back({made, next_id_++, event});
    }
}

recovery::AckRegenerator::Series AckRelay::series_for(std::uint64_t ack) {
    return scheme_ == Scheme::dar ? regenerator_.on_ack(virtual_now(), ack) : reconstruct(virtual_now(), ack);
}

// ACK reconstruction (AR, RFC 3449, section 5.2.3): makes one acknowledgement for every two segments and spreads them
// over the mean interval.
recovery::AckRegenerator::Series AckRelay::reconstruct(Instant now, std::uint64_t ack) {
    recovery::AckRegenerator::Series series;
    if (ack > last_) {
        if (last_at_) mean_ = mean_ > Duration::zero() ? (7 * mean_ + (now - *last_at_)) / 8 : now - *last_at_;
        last_at_ = now;
        const std::uint64_t step = std::uint64_t{kAckStep} * segment_bytes_;
        // As DAR and for the same reason, AR makes none after repeated acknowledgements.
        const std::uint64_t from = std::exchange(repeated_, false) ? ack : last_ + step;
        for (std::uint64_t made = from; made < ack; made += step) series.acks.push_back(made);
        last_ = ack;
    } else {
        repeated_ = repeated_ || ack == last_;
    }
    series.acks.push_back(ack);
    series.spacing = mean_ / static_cast<std::int64_t>(series.acks.size());
    return series;
}

void AckRelay::flush() {
    while (!waiting_.empty()) {
        const Waiting first = waiting_.front();
        waiting_.pop_front();
        ns3::Simulator::Cancel(first.event);
        pass(first.ack);
    }
}

void AckRelay::leave(std::uint64_t id) {
    const auto it =
        std::find_if(waiting_.begin(), waiting_.end(), [id](const Waiting& waiting) { return waiting.id == id; });
    if (it == waiting_.end()) return;
    const Ack ack = it->ack;
    waiting_.erase(it);
    pass(ack);
}

void AckRelay::pass(const Ack& ack) {
    ++acks_;
    if (ack.number < highest_passed_) ++overtaken_;
    highest_passed_ = std::max(highest_passed_, ack.number);
    const auto packet = ack.packet->Copy();
    auto s = parse(packet);
    s->tcp.SetAckNumber(*origin_ + static_cast<std::int32_t>(ack.number));
    packet->AddHeader(s->tcp);
    packet->AddHeader(s->ip);
    hand_up(back_, packet, ack.from);
}

}  // namespace udtx::papers

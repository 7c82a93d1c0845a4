// Tests the acknowledgement filter in front of a narrow link.
#include <ns3/ppp-header.h>

#include "acks/relay.hpp"
#include "test/catch.hpp"

using udtx::papers::AckFilterQueue;

namespace {

/// A segment as the link's queue holds it: of the connection from `port`, with `bytes` bytes of data.
ns3::Ptr<ns3::Packet> segment(std::uint16_t port, std::uint32_t ack, std::uint32_t bytes = 0) {
    const auto packet = ns3::Create<ns3::Packet>(bytes);
    ns3::TcpHeader tcp;
    tcp.SetSourcePort(port);
    tcp.SetDestinationPort(80);
    tcp.SetAckNumber(ns3::SequenceNumber32(ack));
    tcp.SetFlags(ns3::TcpHeader::ACK);
    packet->AddHeader(tcp);
    ns3::Ipv4Header ip;
    ip.SetSource("10.1.3.2");
    ip.SetDestination("10.1.1.1");
    ip.SetProtocol(6);
    ip.SetPayloadSize(static_cast<std::uint16_t>(packet->GetSize()));
    packet->AddHeader(ip);
    ns3::PppHeader ppp;
    ppp.SetProtocol(0x0021);
    packet->AddHeader(ppp);
    return packet;
}

}  // namespace

TEST_CASE("ACK filter: the newest of a connection stays, and what repeats it") {
    const auto queue = ns3::CreateObject<AckFilterQueue>();
    queue->SetMaxSize(ns3::QueueSize("20p"));
    REQUIRE(queue->Enqueue(segment(1, 1000)));
    REQUIRE(queue->Enqueue(segment(2, 500)));
    REQUIRE(queue->Enqueue(segment(1, 700, 100)));  // data, with an acknowledgement
    REQUIRE(queue->Enqueue(segment(1, 2000)));
    CHECK(queue->GetNPackets() == 3);
    REQUIRE(queue->Enqueue(segment(1, 2000)));  // repeated: fast retransmit counts them
    CHECK(queue->GetNPackets() == 4);
    REQUIRE(queue->Enqueue(segment(1, 1500)));  // late
    CHECK(queue->GetNPackets() == 5);
    REQUIRE(queue->Enqueue(segment(1, 3000)));
    CHECK(queue->GetNPackets() == 3);
    REQUIRE(queue->Enqueue(segment(2, 900)));
    CHECK(queue->GetNPackets() == 3);
}

#include "udtx/core/lane_work.hpp"

#include <algorithm>
#include <cassert>

#include "crypto/packet_key.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

static crypto::Aead& aead_of(const crypto::PacketKey& key, std::size_t worker) {
    return worker == 0 ? *key.aead : *key.lanes.at(worker - 1);
}

void seal_batch(const Transmit& transmit, std::span<std::byte> batch, std::size_t worker) {
    assert(transmit.key != nullptr && transmit.segment > 0);
    crypto::Aead& aead = aead_of(*transmit.key, worker);
    for (std::size_t at = 0; at < batch.size(); at += transmit.segment) {
        const auto packet = batch.subspan(at, std::min(transmit.segment, batch.size() - at));
        const auto header = wire::parse_short_header(packet);
        assert(header);
        // The header has only the low bits of the number. Numbers ascend within a batch.
        const PacketNumber number = wire::expand_packet_number(header->packet_number, transmit.first_number);
        aead.seal(crypto::make_nonce(transmit.key->iv, transmit.path, number), packet, wire::kShortHeaderBytes);
    }
}

void open_packet(const Opening& opening, RxDatagram& datagram, std::size_t worker) {
    if (wire::is_long_header(datagram.data)) return;
    const auto header = wire::parse_short_header(datagram.data);
    if (!header || header->destination != opening.destination || header->path != opening.path ||
        header->key_phase != opening.key_phase) {
        return;
    }
    const PacketNumber number = wire::expand_packet_number(header->packet_number, opening.expected);
    const auto nonce = crypto::make_nonce(opening.key->iv, opening.path, number);
    const bool authentic = aead_of(*opening.key, worker).open(nonce, datagram.data, wire::kShortHeaderBytes);
    datagram.opened = Opened{opening.key.get(), number, authentic};
}

}  // namespace udtx::proto

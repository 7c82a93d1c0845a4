// Everything that one path of a connection owns: its packet numbers, what became of them, how fast, how large.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "congestion/pacer.hpp"
#include "crypto/replay_window.hpp"
#include "path/mtu_search.hpp"
#include "path/validator.hpp"
#include "recovery/ack_tracker.hpp"
#include "recovery/loss_recovery.hpp"
#include "recovery/packet_pair.hpp"
#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/congestion.hpp"
#include "udtx/ids.hpp"
#include "wire/frame.hpp"

namespace udtx::proto {

struct PathContext {
    PathContext(PathId path_id, const TransportConfig& config, const Address& local_address,
                const Address& remote_address)
        : id(path_id),
          local(local_address),
          remote(remote_address),
          recovery(kSynInterval),
          acks(path_id, kSynInterval),
          mtu(config.min_datagram, config.max_datagram) {}

    PathId id;
    Address local;
    Address remote;

    recovery::LossRecovery recovery;
    recovery::AckTracker acks;
    recovery::PacketPairMonitor pairs;
    crypto::ReplayWindow replay;
    std::unique_ptr<CongestionController> congestion;
    congestion::Pacer pacer;
    path::MtuSearch mtu;
    path::Validator validator;

    // Packet pairs: every 16th packet opens one, at most one a millisecond, besides the first train
    // (docs/congestion.md).
    std::uint32_t train_left = 0;  ///< packets of the pair or train under way that are still to leave
    Instant last_pair{};
    std::optional<Instant> last_train;
    std::uint64_t skip_in = 0;  ///< packets until a number is skipped (optimistic-ACK trap)

    /// Packets to send whatever the window says (probe timeout). The last one is small: the two together tell a path
    /// that swallows large datagrams from one that is silent.
    static constexpr int kProbes = 2;
    int probes = 0;
    bool ping_due = false;
    std::optional<std::uint64_t> response_due;        ///< PATH_RESPONSE to send
    std::optional<wire::RateFeedbackFrame> feedback;  ///< of the packet being processed, until its ACK frame
    RateFeedback last_feedback;                       ///< for reports, with the newest pair

    std::uint64_t sent_packets = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_packets = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t lost_packets = 0;
    std::uint64_t spurious_losses = 0;
    std::uint64_t retransmitted_packets = 0;
    std::uint64_t probe_timeouts = 0;
};

}  // namespace udtx::proto

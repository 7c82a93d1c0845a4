// The paths of a connection, and the state that each of them owns.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "congestion/ack_interval.hpp"
#include "congestion/pacer.hpp"
#include "crypto/packet_protection.hpp"
#include "path/mtu_search.hpp"
#include "path/validator.hpp"
#include "probing/line_estimate.hpp"
#include "probing/probe_schedule.hpp"
#include "recovery/ack_regenerator.hpp"
#include "recovery/ack_tracker.hpp"
#include "recovery/ecn.hpp"
#include "recovery/loss_recovery.hpp"
#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/congestion.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/ids.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/stats.hpp"

namespace udtx::proto {

// Doubt that the peer is still there. Others can forge its causes, so it ends nothing as long as the peer answers.

/// Doubt about one path. The peer is asked, and has until `until` to answer.
struct Doubt {
    std::optional<Evidence> evidence;  ///< nullopt: this process did not run for an idle timeout
    Duration patience{};
    Instant until{};
    Instant ask_at{};        ///< when to ask again
    Instant answers_from{};  ///< earlier packets may have left before the peer ended
};

// State that one path of a connection owns: packet numbers, loss recovery, congestion control, datagram size.

// An interval of arrivals is long enough that it does not measure a burst of the sender.
static_assert(probing::kLeastInterval == 2 * congestion::Pacer::kBurst);

struct PathContext {
    PathContext(PathId path_id, const TransportConfig& config, const Address& local_address,
                const Address& remote_address, PacketNumber first_number = 0, PathState first = PathState::active)
        : id(path_id),
          local(local_address),
          remote(remote_address),
          state(first),
          recovery(kSynInterval, first_number),
          acks(path_id, kSynInterval),
          ecn(config.ecn),
          mtu(config.min_datagram, config.max_datagram) {}

    /// Bytes in flight, as the controller counts them.
    [[nodiscard]] std::uint64_t in_flight() const noexcept {
        return recovery.in_flight() + (stretch_acks ? stretch_acks->kept_back().bytes : 0);
    }

    /// A byte stream carries its datagrams. It loses none, and limits the rate by `full`.
    [[nodiscard]] bool carried() const noexcept { return remote.carrier != Carrier::udp; }

    /// Tells the controller which datagram size is in use.
    void tell_datagram_size() {
        limits.datagram_bytes = mtu.current();
        congestion->on_limits(limits);
    }

    PathId id;
    Address local;
    Address remote;
    PathOptions options;
    bool full = false;  ///< if carried(): the byte stream takes nothing more at present
    static constexpr Step<PathState> kStates[] = {
        {PathState::probing, PathState::active},   {PathState::active, PathState::suspended},
        {PathState::suspended, PathState::active}, {PathState::probing, PathState::closed},
        {PathState::active, PathState::closed},    {PathState::suspended, PathState::closed}};
    Lifecycle<kStates> state;

    recovery::LossRecovery recovery;
    recovery::AckTracker acks;
    recovery::EcnMarking ecn;                           ///< marks of sent packets
    recovery::EcnReceipts ecn_receipts;                 ///< marks of received packets
    congestion::AckInterval ack_interval;               ///< for stretch_acks
    Duration acked_span{};                              ///< of the last ACK
    std::optional<recovery::StretchAcks> stretch_acks;  ///< if the controller counts ACKs
    probing::LineMeter line_meter;                      ///< measures arrivals
    probing::ProbeSchedule line_probes;                 ///< schedules the probes of this end
    probing::LineEstimator line_estimator;              ///< evaluates the peer's reports
    crypto::ReplayWindow replay;
    std::unique_ptr<CongestionController> congestion;
    PathLimits limits;  ///< as the controller knows them
    congestion::Pacer pacer;
    path::MtuSearch mtu;
    path::Validator validator;

    std::uint64_t skip_in = 0;  ///< packets until a number is skipped (optimistic-ACK trap)

    /// While suspended: when the next two probes leave, and how long to wait after them.
    static constexpr Duration kFirstRevival = std::chrono::milliseconds(100);
    static constexpr Duration kLastRevival = std::chrono::seconds(1);
    Instant revival_at{};
    Duration revival_wait{};

    /// A path that failed twice within kUnrest is unsteady until it has worked for twice the time between the failures.
    /// kFailureDatagrams unanswered datagrams are a failure; fewer may have been lost by chance. An unsteady path
    /// hardly carries more than one datagram at a time, so there each one counts. This holds only for kEachCounts after
    /// a certain failure. Otherwise random loss would exclude a path for good.
    static constexpr Duration kUnrest = std::chrono::seconds(10);
    static constexpr Duration kLeastProbation = std::chrono::seconds(5);
    static constexpr Duration kEachCounts = std::chrono::seconds(20);
    static constexpr std::uint64_t kFailureDatagrams = 4;
    std::optional<Instant> failed_at;
    Instant each_counts_until{};
    Duration probation{};
    Instant steady_from{};

    /// Packets to send whatever the window says (probe timeout). The last one is small: the two together distinguish a
    /// path that drops large datagrams from one that is silent.
    static constexpr int kProbes = 2;
    int probes = 0;
    bool ping_due = false;
    bool status_due = false;      ///< PATH_STATUS to send, on any path
    bool peer_suspended = false;  ///< the peer receives nothing here
    bool ack_elsewhere = false;   ///< an ACK of this path must leave on another one
    std::uint64_t status_sent = 0;
    std::optional<std::uint64_t> status_seen;  ///< newest PATH_STATUS sequence number of the peer
    Instant last_received{};
    Instant last_eliciting{};
    std::optional<std::uint64_t> response_due;  ///< PATH_RESPONSE to send

    std::optional<Doubt> doubt;  ///< only while active

    PathStats figures;  ///< the counters; Connection::Impl::path_stats() fills in the rest
    std::optional<Instant> blocked_since;
};

// The paths of a connection by id. The first one is that of the handshake.

/// Ids are used once: a number that a path has sent must never be sealed again, and one that it received never be
/// opened.
class PathSet {
  public:
    explicit PathSet(std::unique_ptr<PathContext> first) { (void)add(std::move(first)); }

    PathContext& add(std::unique_ptr<PathContext> path);
    /// Removes the path and keeps its statistics. Not for the last path.
    void close(PathId id, PathStats figures);

    /// Null if no such path is open.
    [[nodiscard]] PathContext* find(PathId id) noexcept {
        for (const auto& path : open_) {
            if (path->id == id) return path.get();
        }
        return nullptr;
    }
    void mark_used(PathId id) noexcept { used_.set(id.value); }
    [[nodiscard]] bool was_used(PathId id) const noexcept { return used_[id.value]; }
    /// The lowest id that was never used.
    [[nodiscard]] std::optional<PathId> unused_id() const noexcept;
    /// The oldest open path. There is always one.
    [[nodiscard]] PathContext& first() noexcept { return *open_.front(); }
    [[nodiscard]] const PathContext& first() const noexcept { return *open_.front(); }
    /// Open paths, in the order in which they were opened.
    [[nodiscard]] std::span<const std::unique_ptr<PathContext>> all() const noexcept { return open_; }
    [[nodiscard]] bool single() const noexcept { return open_.size() == 1; }
    [[nodiscard]] std::size_t count() const noexcept { return open_.size(); }
    [[nodiscard]] std::span<const PathStats> closed() const noexcept { return closed_; }

    /// The path for frames that belong to no path. It prefers active paths, then working ones, then those that are not
    /// standby, and then the lowest round-trip time. Among equals it is the first one.
    [[nodiscard]] PathContext& best() noexcept;
    /// A path other than `path` works.
    [[nodiscard]] bool another_works(const PathContext& path) const noexcept;
    [[nodiscard]] static bool works(const PathContext& path) noexcept;
    /// The path is silent for so long that another one should take over.
    [[nodiscard]] static bool silent(const PathContext& path, Instant now) noexcept;

  private:
    std::vector<std::unique_ptr<PathContext>> open_;
    std::vector<PathStats> closed_;
    std::bitset<256> used_;
};

/// Probe timeouts in a row after which a path counts as silent (UDT's EXP event).
inline constexpr std::uint32_t kSilentProbes = 2;
/// A silent path has also received nothing for this long. On a short path, two probe timeouts pass before a busy peer
/// wakes up.
inline constexpr Duration kLeastSilence = std::chrono::milliseconds(100);

}  // namespace udtx::proto

// The interface of a path scheduler. It chooses the path for the next datagram of stream bytes, and the stream offset
// of its first byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// Upper limit of the number of paths of a connection (TransportConfig::max_paths).
inline constexpr std::size_t kMaxPaths = 16;

/// One path, as a scheduler sees it.
struct PathView {
    PathId id;                            ///< which path
    bool usable = true;                   ///< true: the path is validated and responds
    bool may_send = true;                 ///< true: the path is usable, and its window and pacer allow a datagram now
    Instant departure;                    ///< when the pacer allows the next datagram; a time up to `now` means at once
    std::uint64_t window = 0;             ///< congestion window, bytes
    std::uint64_t in_flight = 0;          ///< bytes in flight
    Rate rate;                            ///< sending rate of the congestion controller; zero or infinite: unknown
    Duration smoothed_rtt{};              ///< smoothed RTT; zero before the first sample
    Duration min_rtt{};                   ///< smallest RTT; zero before the first sample
    std::uint32_t datagram_bytes = 1200;  ///< UDP payload of a full datagram, bytes
    double weight = 1.0;                  ///< PathRequest::weight
    bool standby = false;                 ///< PathRequest::standby
    bool unsteady = false;  ///< true: the path fails repeatedly; bytes of ordered streams should not depend on it
};

/// The bytes of a stream that wait for a path. Offsets are stream offsets (compare the DSN of MPTCP, RFC 8684). A byte
/// is assigned once a path was chosen for it.
struct StreamDemand {
    StreamKind kind = StreamKind::ordered;  ///< how the stream delivers
    bool again = false;                     ///< true: lost bytes wait too; they are sent first, regardless of the pick
    std::uint64_t next = 0;                 ///< first offset that is not assigned
    std::span<const Range> ahead{};         ///< assigned ranges beyond `next`, in ascending order
    std::uint64_t ahead_bytes = 0;          ///< bytes in `ahead`
    std::uint64_t data_acked = 0;           ///< all bytes below this offset are acknowledged
    std::uint64_t limit = 0;                ///< first offset that flow control forbids
    std::uint64_t receive_window = 0;       ///< bytes that the receiver may have to buffer; 0: unknown
    std::uint64_t written = 0;              ///< first offset that the program has not written
    std::uint64_t remaining = 0;            ///< unassigned bytes, including lost ones
    bool end_known = false;                 ///< true: the program will write no more bytes

    /// One past the last assigned byte.
    [[nodiscard]] std::uint64_t highest() const noexcept { return ahead.empty() ? next : ahead.back().end; }
};

/// The decision of a scheduler.
struct PathPick {
    PathId path;  ///< path of the datagram
    /// The datagram takes the first unassigned bytes at or after this offset: StreamDemand::next, or a larger offset to
    /// leave a gap that a faster path will fill.
    std::uint64_t from = 0;
    /// True: send a probe instead of new bytes. It repeats the bytes that were last assigned to another path, or is a
    /// PING if all of these have arrived.
    bool duplicate = false;
};

/// Chooses the paths of one connection. The protocol thread makes all calls, and they must return soon. An exception
/// ends the connection with `internal`, and a lack of memory ends it with `network`. An invalid pick also ends it with
/// `internal`: an unknown path, or an offset from which flow control and the program leave nothing to send. The
/// transport may call pick() any number of times before on_sent(). pick() changes no state except which paths are
/// blocked.
class UDTX_EXPORT PathScheduler {
  public:
    virtual ~PathScheduler() = default;
    /// Chooses the path of the next datagram; nullopt: wait. `demand` contains bytes that flow control allows.
    [[nodiscard]] virtual std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                                       std::span<const PathView> paths) = 0;
    /// `bytes` of the stream were sent as `pick` says.
    virtual void on_sent(Instant /*now*/, const PathPick& /*pick*/, std::uint64_t /*bytes*/) {}
    /// True if the path carries only probes at present. Used in reports.
    [[nodiscard]] virtual bool blocked(PathId /*path*/) const { return false; }
};

/// Makes a scheduler of the program (TransportConfig::scheduler_factory). The protocol thread calls it for each
/// connection that gets its second path. The check of a configuration calls it once more, on the calling thread. If it
/// returns null or throws, the check fails with invalid_argument; on the protocol thread the connection ends.
using SchedulerFactory = std::function<std::unique_ptr<PathScheduler>()>;

/// Makes the built-in scheduler `name`. invalid_argument: the name is unknown; the message lists all names.
[[nodiscard]] UDTX_EXPORT Result<std::unique_ptr<PathScheduler>> make_path_scheduler(std::string_view name);
/// Names of the built-in schedulers.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> path_scheduler_names();

}  // namespace udtx

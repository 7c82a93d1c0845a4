// Contract between a connection and its path scheduler: which path the next datagram of stream bytes takes, and from
// which offset on. A scheduler sees views, never paths; the time is handed in. All calls come on the protocol thread,
// and none may throw: what comes out all the same ends the connection.
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
#include "udtx/range.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Most paths that a connection has open at once (TransportConfig::max_paths).
inline constexpr std::size_t kMaxPaths = 16;

/// One path as a scheduler sees it.
struct PathView {
    PathId id;
    bool usable = true;           ///< validated, and not given up for dead
    bool may_send = true;         ///< window and pacer have room for one datagram now; implies usable
    Instant departure;            ///< when the pacer lets the next datagram go; `now` or earlier when it does already
    std::uint64_t window = 0;     ///< bytes
    std::uint64_t in_flight = 0;  ///< bytes
    Rate rate;                    ///< x_i: what congestion control lets through, zero or infinite when unknown
    Duration smoothed_rtt{};      ///< zero until the first sample
    Duration min_rtt{};           ///< zero until the first sample
    std::uint32_t datagram_bytes = 1200;
    double weight = 1.0;    ///< user's; for `weighted`
    bool standby = false;   ///< only for when no other path is usable
    bool unsteady = false;  ///< falls silent again and again: what must come in order had better not wait for it
};

/// The stream bytes that wait for a path. Offsets are the stream's, the connection-level order (DSN in MPTCP).
struct StreamDemand {
    StreamKind kind = StreamKind::ordered;
    bool again = false;                ///< bytes that were lost wait, too: they go first, whatever offset a pick names
    std::uint64_t next = 0;            ///< the first offset that no path was given yet
    std::span<const Range> ahead{};    ///< what was given beyond `next`, ascending
    std::uint64_t ahead_bytes = 0;     ///< all of it
    std::uint64_t data_acked = 0;      ///< all below was acknowledged
    std::uint64_t limit = 0;           ///< the first offset that flow control forbids
    std::uint64_t receive_window = 0;  ///< W, bytes; 0 = unknown. Ordered: what the receiver may have to hold
    std::uint64_t written = 0;         ///< the first offset that the application has not written yet
    std::uint64_t remaining = 0;       ///< bytes written and not given to a path, lost ones included
    bool end_known = false;            ///< nothing will be written beyond `written`

    /// One past the last byte that a path was given.
    [[nodiscard]] std::uint64_t highest() const noexcept { return ahead.empty() ? next : ahead.back().end; }
};

struct PathPick {
    PathId path;
    /// Send the first bytes at or beyond this offset that no path was given yet (StreamDemand::next unless a gap is
    /// left for faster paths to fill meanwhile).
    std::uint64_t from = 0;
    /// Instead of new bytes send those again that were given to another path last, or a PING if they have all arrived:
    /// a probe, whose loss costs nothing.
    bool duplicate = false;
};

/// Order of calls: pick() as often as the owner likes; on_sent() when it did as the pick said. A pick changes nothing
/// that a later pick depends on, but for which paths are blocked.
class UDTX_EXPORT PathScheduler {
  public:
    virtual ~PathScheduler() = default;
    /// Where the next datagram goes; nullopt: wait for another path, or for an acknowledgement. Only to be asked while
    /// `demand` has bytes that flow control allows.
    [[nodiscard]] virtual std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                                       std::span<const PathView> paths) = 0;
    /// `bytes` of the stream left as `pick` said.
    virtual void on_sent(Instant /*now*/, const PathPick& /*pick*/, std::uint64_t /*bytes*/) {}
    /// The path carries nothing but probes at present; for reports.
    [[nodiscard]] virtual bool blocked(PathId /*path*/) const { return false; }
};

/// Makes a scheduler of one's own (TransportConfig::scheduler_factory): one for a connection, when it gets its second
/// path, on the protocol thread; one more where the configuration is checked, on the thread that hands it in. Null and
/// exceptions are errors: of the configuration where it is checked, later they end the connection.
using SchedulerFactory = std::function<std::unique_ptr<PathScheduler>()>;

/// Creates the built-in scheduler called `name` ("minrtt"); invalid_argument names the known ones.
[[nodiscard]] UDTX_EXPORT Result<std::unique_ptr<PathScheduler>> make_path_scheduler(std::string_view name);
[[nodiscard]] UDTX_EXPORT std::vector<std::string> path_scheduler_names();

}  // namespace udtx

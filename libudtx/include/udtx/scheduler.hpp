// The interface of a path scheduler, which says which path takes the next datagram of stream bytes, and from which
// offset.
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

/// Most paths of a connection (TransportConfig::max_paths).
inline constexpr std::size_t kMaxPaths = 16;

/// One path as a scheduler sees it.
struct PathView {
    PathId id;                            ///< which path
    bool usable = true;                   ///< it is validated and answers
    bool may_send = true;                 ///< it is usable, and window and pacer admit a datagram now
    Instant departure;                    ///< when the pacer admits the next datagram; at most `now`: at once
    std::uint64_t window = 0;             ///< bytes that may be in flight
    std::uint64_t in_flight = 0;          ///< bytes
    Rate rate;                            ///< of the congestion control; zero or infinite: unknown
    Duration smoothed_rtt{};              ///< zero until the first sample
    Duration min_rtt{};                   ///< zero until the first sample
    std::uint32_t datagram_bytes = 1200;  ///< UDP payload of a full datagram
    double weight = 1.0;                  ///< PathRequest::weight
    bool standby = false;                 ///< PathRequest::standby
    bool unsteady = false;  ///< it falls silent again and again: bytes that must come in order should not wait for it
};

/// The bytes of a stream that wait for a path. Offsets are those of the stream (as the DSN of MPTCP, RFC 8684).
struct StreamDemand {
    StreamKind kind = StreamKind::ordered;  ///< how the stream delivers
    bool again = false;                     ///< lost bytes wait as well; they leave first, whatever the pick says
    std::uint64_t next = 0;                 ///< the first offset that no path has been given
    std::span<const Range> ahead{};         ///< what paths have been given beyond `next`, ascending
    std::uint64_t ahead_bytes = 0;          ///< bytes of `ahead`
    std::uint64_t data_acked = 0;           ///< all bytes below this offset are acknowledged
    std::uint64_t limit = 0;                ///< the first offset that flow control forbids
    std::uint64_t receive_window = 0;       ///< bytes that the receiver may have to hold; 0: unknown
    std::uint64_t written = 0;              ///< the first offset that the program has not written
    std::uint64_t remaining = 0;            ///< bytes that no path has been given, lost ones included
    bool end_known = false;                 ///< the program will write nothing more

    /// One past the last byte that a path has been given.
    [[nodiscard]] std::uint64_t highest() const noexcept { return ahead.empty() ? next : ahead.back().end; }
};

/// The answer of a scheduler.
struct PathPick {
    PathId path;  ///< that takes the datagram
    /// Send the first bytes from this offset on that no path has been given: StreamDemand::next, or more to leave a gap
    /// that a faster path will fill.
    std::uint64_t from = 0;
    /// Send no new bytes but a probe: the bytes again that another path was given last, or a PING if all have arrived.
    bool duplicate = false;
};

/// Chooses the paths of one connection. All calls come on the protocol thread and return soon. An exception of any type
/// ends the connection with `internal`; a lack of memory ends it with `network`. A pick that leads nowhere ends it with
/// `internal`: a path that is not there, or an offset behind which flow control and the program leave nothing to send.
/// pick() may be called any number of times before on_sent(); it changes no state but which paths are blocked.
class UDTX_EXPORT PathScheduler {
  public:
    virtual ~PathScheduler() = default;
    /// Which path takes the next datagram; nullopt: wait. `demand` has bytes that flow control allows.
    [[nodiscard]] virtual std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                                       std::span<const PathView> paths) = 0;
    /// `bytes` of the stream have left as `pick` said.
    virtual void on_sent(Instant /*now*/, const PathPick& /*pick*/, std::uint64_t /*bytes*/) {}
    /// The path carries nothing but probes at present. For reports.
    [[nodiscard]] virtual bool blocked(PathId /*path*/) const { return false; }
};

/// Makes a scheduler of the program's own (TransportConfig::scheduler_factory): one for each connection, when it gets
/// its second path, on the protocol thread. The check of a configuration makes one more, on the calling thread; there
/// null or an exception is invalid_argument, later it ends the connection.
using SchedulerFactory = std::function<std::unique_ptr<PathScheduler>()>;

/// Makes the built-in scheduler called `name`. invalid_argument: there is none; the message names them all.
[[nodiscard]] UDTX_EXPORT Result<std::unique_ptr<PathScheduler>> make_path_scheduler(std::string_view name);
/// Names of the built-in schedulers.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> path_scheduler_names();

}  // namespace udtx

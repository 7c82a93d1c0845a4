// A transfer that outlives its connection: the side that dialled dials again, and what is proven at the receiver is not
// sent again.
#pragma once

#include <functional>

#include "common/dial_handler.hpp"
#include "common/final_report.hpp"
#include "common/log.hpp"
#include "common/signals.hpp"
#include "common/supervisor.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// One connection's worth of a transfer.
struct Attempt {
    enum class End {
        final,        ///< there is no point in another
        lost,         ///< it was up, and fell silent
        unreachable,  ///< it never was up
    };
    FinalReport report;
    End end = End::final;
    Instant last_moved{};  ///< when there was progress
};

/// Of a connection that is over.
[[nodiscard]] Attempt::End end_of(const Supervisor& supervisor, const DialHandler& dial);
/// Of an attempt that came to no connection: names and ssh go over the same lines.
[[nodiscard]] Attempt::End end_of(const Error& error);

struct ReconnectSetup {
    Duration patience{};     ///< without progress, all attempts together
    bool resumable = false;  ///< else there is but one attempt
    Log& log;
    SignalWatch& signals;
};

/// Makes attempts until one has a final end or patience is over. `attempt(again)`: not the first.
[[nodiscard]] FinalReport keep_trying(const ReconnectSetup& setup, const std::function<Attempt(bool again)>& attempt);

}  // namespace udtx::apps

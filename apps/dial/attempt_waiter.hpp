// Waits for the end of an attempt at a transfer that this side dialled: shows how it goes meanwhile, and ends it on a
// signal or when patience is over.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "common/signals.hpp"
#include "common/transport.hpp"
#include "dial/dial_handler.hpp"
#include "dial/transfer_observers.hpp"
#include "observe/progress_display.hpp"
#include "options/common_options.hpp"
#include "transfer/job/job.hpp"

namespace udtx::apps {

class AttemptWaiter {
  public:
    struct Setup {
        const CommonOptions& options;
        SignalWaiter& signals;
        DataEnd end;
        bool streaming = false;  ///< one pipe: it may rest for as long as its writer likes
        /// So long there is after an end that we asked for, to tidy up and to be told what was delivered.
        Duration wind_up_within{};
        TransferObservers& observers;
        const Transport& transport;
        Log& log;
        std::function<Duration()> writing = [] { return Duration(); };  ///< so long a receiver's writer was at work
        /// Asked at each turn: nothing will come of it.
        std::function<bool()> hopeless = [] { return false; };
        /// Asked at each turn: the far end's program has ended, as far as can be seen from here.
        std::function<bool()> far_end_gone = [] { return false; };
    };
    /// All outlive it. `done` is set when the job's result is final, and the signal waiter woken.
    AttemptWaiter(const Setup& setup, DialHandler& dial, const transfer::Job& job, const std::atomic<bool>& done);

    /// False when the transfer had to be left behind unfinished.
    [[nodiscard]] bool wait();
    /// When all is over: what the last tick has missed.
    void look_back();
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// Why the transfer was ended from here, if it was.
    [[nodiscard]] const std::optional<Error>& given_up() const noexcept { return given_up_; }
    [[nodiscard]] bool ended() const noexcept { return end_.has_value(); }
    [[nodiscard]] Duration elapsed() const;
    /// When something moved for the last time.
    [[nodiscard]] Instant last_moved() const noexcept { return last_moved_; }

  private:
    void show(Instant now, const transfer::Progress& progress);
    void look(Instant now, const transfer::Progress& progress, const std::optional<ConnectionStats>& stats);
    /// False: leave at once.
    bool interrupt(int signal, Instant now);
    void give_up(Instant now, ErrorCode code, std::string reason);
    /// The first time in good order, the second time at once.
    void ask_to_end() { dial_.abort(given_up_->code, given_up_->message); }
    void end_if_overdue(Instant now, const transfer::Progress& progress);

    Setup setup_;
    DialHandler& dial_;
    const transfer::Job& job_;
    const std::atomic<bool>& done_;
    StallTimer stall_;
    Instant start_;
    Instant last_moved_;
    Duration stats_age_{};
    std::optional<Instant> end_;
    Interruption interruption_;
    std::optional<Error> given_up_;
    Instant given_up_at_{};
    bool closed_ = false;
};

}  // namespace udtx::apps

// Observes a transfer from the side that connects, over all its connections.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/log.hpp"
#include "control/control.hpp"
#include "control/rate_governor.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "observe/progress.hpp"
#include "options/common_options.hpp"
#include "page/page.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

/// Adds up a transfer over all its connections. Data that an earlier connection delivered counts once, although a later
/// connection finds it at the receiver.
class Account {
  public:
    /// Converts the current connection's figures to those of the whole transfer.
    [[nodiscard]] transfer::Progress whole(transfer::Progress now) const;
    [[nodiscard]] transfer::Outcome whole(transfer::Outcome now) const;
    /// Call it when a connection has ended, with its figures converted by whole().
    void carry(const transfer::Progress& progress, const transfer::Outcome& outcome);

  private:
    bool carried_ = false;
    transfer::Progress progress_;
    transfer::Outcome outcome_;
};

// All observers of one transfer, and all that may change its cap: JSON stream, metrics, control socket, schedule.

/// Observes a transfer by the side that connected, over all its connections. Use it on one thread; the servers' threads
/// only call latest() and the control handler.
class TransferObservers {
  public:
    /// Describes the transfer.
    struct Subject {
        DataEnd end;
        std::string peer;
        bool streaming = false;
        std::optional<Duration> tries_again_for = std::nullopt;  ///< set if the side reconnects after a silence
        TransferCard card{};                                     ///< for clients that list transfers
    };
    /// `print` writes the JSON stream.
    static Result<std::unique_ptr<TransferObservers>> start(const CommonOptions& options, Log& log, Subject subject,
                                                            JsonTicker::Print print);

    /// Also shows progress on `terminal`.
    void show_on(Terminal& terminal);
    [[nodiscard]] const Account& account() const noexcept { return account_; }

    [[nodiscard]] Duration since_start(Instant now) const { return now - *start_; }

    /// Call it before each connection.
    void begin_connection(Instant now);
    /// The connection was lost; the account keeps its results.
    void lost(Instant now, const FinalReport& report);

    /// The cap at the start.
    [[nodiscard]] Rate first_cap(Instant now);
    /// A sender's cap if it differs from the one at the last call.
    [[nodiscard]] std::optional<Rate> new_cap(Instant now);
    /// `glance.progress` is that of the current connection. look() fills in `at` and the silence.
    void look(Instant now, Glance glance);
    enum class Screen { ours, leave };
    /// Updates the observers between two connections. `leave`: leaves the screen alone, because another program may be
    /// asking for a password there.
    void look_at_nothing(Instant now, Screen screen);
    /// Erases the progress line.
    void clear_screen();
    /// Call it after the last look(). Puts the limits into the report, writes the page's report, and updates those who
    /// have the page open.
    void finish(FinalReport& report);
    [[nodiscard]] Observation latest() const { return observer_.latest(); }

  private:
    TransferObservers(const CommonOptions& options, Log& log, Subject subject);
    void show(const Observation& seen);
    void tell_silence();
    [[nodiscard]] std::string silence_text() const;

    const CommonOptions& options_;
    Log& log_;
    Subject subject_;
    std::optional<Instant> start_;  // start of the first connection
    Account account_;
    Silence silence_{subject_.end == DataEnd::receiver};
    std::optional<Duration> told_silence_;  // its length when it was last logged
    std::optional<ProgressDisplay> display_;
    Screen screen_ = Screen::ours;
    Observer observer_;
    RateGovernor rates_;
    Rate cap_ = Rate::infinite();
    std::optional<JsonTicker> json_;
    std::unique_ptr<LivePage> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<HttpServer> control_;
};

}  // namespace udtx::apps

// All who observe one transfer, and who may change its cap: JSON stream, metrics, control socket, schedule.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/log.hpp"
#include "control/control_socket.hpp"
#include "control/observer_services.hpp"
#include "control/rate_governor.hpp"
#include "control/transfer_card.hpp"
#include "dial/account.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "observe/progress_display.hpp"
#include "observe/silence.hpp"
#include "options/common_options.hpp"
#include "page/live_page.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Of a transfer that this side dialled, over all its connections. One thread, but for what the servers ask.
class TransferObservers {
  public:
    /// Which transfer.
    struct Subject {
        DataEnd end;
        std::string peer;
        bool streaming = false;
        std::optional<Duration> tries_again_for = std::nullopt;  ///< where silence does not end it
        TransferCard card{};                                     ///< for whoever lists it
    };
    /// `print`: where the JSON stream goes.
    static Result<std::unique_ptr<TransferObservers>> start(const CommonOptions& options, Log& log, Subject subject,
                                                            JsonTicker::Print print);

    /// Progress is shown there, too.
    void show_on(Terminal& terminal);
    [[nodiscard]] const Account& account() const noexcept { return account_; }

    [[nodiscard]] Duration since_start(Instant now) const { return now - *start_; }

    /// A connection is to come.
    void begin_connection(Instant now);
    /// It was lost, and what it came to is carried over.
    void lost(Instant now, const FinalReport& report);

    /// The cap to begin with.
    [[nodiscard]] Rate first_cap(Instant now);
    /// A sender's cap, if it is another one than at the last call.
    [[nodiscard]] std::optional<Rate> new_cap(Instant now);
    /// `glance.progress` is the connection's own; `at` and the silence are put in here.
    void look(Instant now, Glance glance);
    enum class Screen { ours, leave };
    /// Between two connections; `leave`: somebody else may be asking for a password there.
    void look_at_nothing(Instant now, Screen screen);
    /// The line of progress goes.
    void clear_screen();
    /// When all is over and has been looked at: puts the limits into the report, writes the page's, and tells those who
    /// observe it.
    void finish(FinalReport& report);
    [[nodiscard]] Observation latest() const { return observer_.latest(); }

  private:
    TransferObservers(const CommonOptions& options, Log& log, Subject subject);
    [[nodiscard]] ControlSocket::Handler control();
    void show(const Observation& seen);
    void tell_silence();
    [[nodiscard]] std::string silence_text() const;

    const CommonOptions& options_;
    Log& log_;
    Subject subject_;
    std::optional<Instant> start_;  // of the first connection
    Account account_;
    Silence silence_;
    std::optional<Duration> told_silence_;  // it had lasted so long when it was last seen
    std::optional<ProgressDisplay> display_;
    Screen screen_ = Screen::ours;
    Observer observer_;
    RateGovernor rates_;
    Rate cap_ = Rate::infinite();
    std::optional<JsonTicker> json_;
    std::unique_ptr<LivePage> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<ControlSocket> control_;
};

}  // namespace udtx::apps

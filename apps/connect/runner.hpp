// Runs a transfer from the side that connects, a push or a fetch: from checked options to the report. A transfer
// survives the loss of its connection, because this side connects again. Data that the receiver has confirmed is not
// sent again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connect/job_record.hpp"
#include "connect/route.hpp"
#include "connect/transfer_observers.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// What a push and a fetch do differently. Use it on one thread.
class TransferRun {
  public:
    virtual ~TransferRun() = default;
    TransferRun(const TransferRun&) = delete;
    TransferRun& operator=(const TransferRun&) = delete;

    /// Connects until the transfer is over or the user's patience is used up. Calls `leave` of the run if threads may
    /// still be blocked in a disk call.
    [[nodiscard]] FinalReport run();

  protected:
    /// What is the same for all connections of a run.
    struct Subject {
        DataEnd end;
        std::string congestion;     ///< the controller in use
        std::string program;        ///< that ssh starts on the other host
        TransferCard card;          ///< for clients that list transfers
        JsonTicker::Print print;    ///< writes the JSON stream
        JobRecord::Job job{};       ///< of a shard
        std::string destination{};  ///< identifies it in repeated runs of a command
    };
    TransferRun(const TransferCommand& command, const Run& run, Subject subject);

    /// The task of the program that ssh starts.
    [[nodiscard]] virtual Result<BootstrapFields> request() const = 0;
    /// Starts a connection. `receipt_` is open if the user wants one.
    [[nodiscard]] virtual Result<transfer::Transfer> start(const Route& route) = 0;
    /// Sources that were found missing outside of the transfer. Called when it has ended.
    [[nodiscard]] virtual std::vector<transfer::FailedFile> missing(const Route& route,
                                                                    const transfer::Transfer& transfer) const = 0;

    const TransferCommand& command_;
    const Run& run_;
    const Subject subject_;
    std::unique_ptr<TransferObservers> observers_;
    std::optional<JobRecord> job_;
    std::optional<transfer::ReceiptFile> receipt_;

  private:
    /// One attempt: at most one connection.
    struct Attempt {
        enum class End {
            final,        ///< another attempt cannot help
            lost,         ///< the connection existed, and an end waited in vain for the other
            sent_away,    ///< the server is being stopped: its successor may serve the transfer
            unreachable,  ///< no connection was made
        };
        FinalReport report;
        End end = End::final;
        Instant last_moved{};     ///< time of the last progress
        bool untouched = false;   ///< nothing was delivered or consumed: the transfer may begin once more
        bool login_next = false;  ///< the next attempt logs in by ssh
    };
    class Reconnects;
    class Connection;

    [[nodiscard]] bool receives() const noexcept { return subject_.end == DataEnd::receiver; }
    /// `left`: the remaining patience; empty for the first attempt.
    [[nodiscard]] Attempt attempt(std::optional<Duration> left);
    [[nodiscard]] Result<Route> look_for_route(bool again);
    [[nodiscard]] Attempt connect(const Route& route);
    /// The attempt failed before the transfer started.
    [[nodiscard]] Attempt not_begun(const Error& error) const;
    /// Ends a transfer that cannot finish.
    [[noreturn]] void leave(FinalReport report);
    [[nodiscard]] bool known_is_due() const;

    // The remote end that ssh started still waits with its port and key if a connection is lost. Another login may
    // need another one-time password, so it comes second.
    enum class Login {
        works,       ///< the remote end may answer
        unanswered,  ///< it did not answer the last attempt, so that another login is due
        refused,     ///< another one is not tried
    };
    static constexpr Step<Login> kSteps[] = {
        {Login::works, Login::unanswered}, {Login::unanswered, Login::works}, {Login::works, Login::refused}};
    std::shared_ptr<RemoteEnd> remote_;
    std::shared_ptr<MetEnd> met_;  // kept, because a code serves once
    Lifecycle<kSteps> login_{Login::works};
    Instant logged_in_{};
};

}  // namespace udtx::apps

// Decides when a server stops: what each signal requests, and how long the process may continue.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "common/process.hpp"
#include "observe/final_report.hpp"
#include "observe/progress.hpp"
#include "options/commands.hpp"
#include "serve/access.hpp"
#include "serve/server_report.hpp"
#include "serve/transfers.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

/// Use it on one thread.
class ServerEnd {
  public:
    /// Time after a signal that ends transfers. In it the disk must store complete files and remove incomplete ones.
    static constexpr Duration kInterruptGrace = std::chrono::seconds(5);

    /// `one_off`: the server ends with its transfer, and every signal ends that transfer. `longest_drain`: limit of the
    /// time between the first TERM and the end of the transfers.
    explicit ServerEnd(bool one_off, std::optional<Duration> longest_drain = std::nullopt)
        : one_off_(one_off), longest_drain_(longest_drain) {}

    enum class Wish {
        nothing,   ///< HUP to a server that ends its transfers
        repeated,  ///< see Interruption::Wish
        reload,    ///< read the keys again: HUP to a server
        drain,     ///< accept no new transfers, complete the running ones: the first TERM of a server
        wind_up,   ///< end the running transfers in an orderly way
        leave,     ///< exit at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;
    /// True once, when the transfers must end because the drain has reached its limit.
    [[nodiscard]] bool drained_too_long(Instant now) noexcept;

    /// The server ends as soon as no transfer is left.
    [[nodiscard]] bool ending() const noexcept { return interrupted() || draining_since_.has_value(); }
    [[nodiscard]] bool draining() const noexcept { return draining_since_.has_value(); }
    /// The running transfers were told to end.
    [[nodiscard]] bool winding_up() const noexcept { return deadline_.has_value(); }
    /// A signal that ends transfers has arrived.
    [[nodiscard]] bool interrupted() const noexcept { return signal() != 0; }
    /// The first signal that ends transfers; 0: none.
    [[nodiscard]] int signal() const noexcept { return interruption_.signal(); }
    /// kInterruptGrace is over.
    [[nodiscard]] bool overdue(Instant now) const noexcept { return deadline_ && now >= *deadline_; }

  private:
    bool one_off_;
    std::optional<Duration> longest_drain_;
    Interruption interruption_;
    std::optional<Instant> draining_since_;
    std::optional<Instant> deadline_;
};

// Logs refused clients. Anyone may try a thousand times a second, so it logs one line a second, and then the number of
// the other refusals.

/// Any thread may use it.
class RefusalLog {
  public:
    /// The log must outlive it. `all`: logs a line for each refusal.
    RefusalLog(Log& log, bool all) : log_(log), all_(all) {}
    void tell(Instant now, const std::string& line);
    /// Call it a few times a second.
    void look(Instant now);
    /// Logs the remaining count. Call it after the last tell().
    void finish();

  private:
    void tell_rest();

    Log& log_;
    const bool all_;
    std::mutex mutex_;  // guards the members below
    std::optional<Instant> last_;
    std::uint64_t untold_ = 0;
};

// A receiver's run as a server, from the first client until the last has left: logs the clients, and decides when the
// run ends.

/// Order of calls: open(), open_files(), observe(), start(), serve(), report(), stop(), stop_observing(). Use it on one
/// thread.
class ServerRun {
  public:
    /// The run must outlive it.
    ServerRun(const RecvRun& run, AuthorizedKeys keys);
    ~ServerRun() { stop_observing(); }
    ServerRun(const ServerRun&) = delete;
    ServerRun& operator=(const ServerRun&) = delete;

    /// Opens the socket to listen on. Starts no thread.
    Result<void> open(const Credentials& credentials);
    [[nodiscard]] const transfer::Server& server() const { return *server_; }
    /// Opens receipt and report before the process gives up the right to open files.
    Result<void> open_files();
    /// Notes the directories that the sandbox permits for writing.
    void note_places(const std::vector<std::string>& directories) { access_.note_places(directories); }
    /// Starts the services by which others observe the transfers and change the rates.
    Result<void> observe();
    void stop_observing() { observers_.stop(); }
    Result<void> start() { return server_->start(); }

    /// Runs until the one transfer has ended or a signal ends the server. False: running transfers must be abandoned.
    [[nodiscard]] bool serve();
    /// The report of the whole run: that of the one transfer, or the sum. Later ends of transfers are not reported.
    [[nodiscard]] FinalReport report();
    /// Waits until the peers have received the closes.
    void stop() { server_->stop(); }
    /// Removes an unfinished receipt.
    void discard_receipt() const noexcept;

  private:
    [[nodiscard]] transfer::ServerOptions options(const Credentials& credentials);
    /// Runs on the protocol thread.
    [[nodiscard]] Result<transfer::Admission> admit(const transfer::Client& client) const;
    /// Runs on the protocol thread.
    void connection_failed(const Address& from, const Error& why);
    /// Any thread.
    void log_file(const transfer::Client& client, const transfer::FileEvent& file) const;
    /// Runs on the server's thread.
    void ended(const transfer::ServedTransfer& transfer);
    /// False: the connection was not a transfer.
    bool tell(const WatchedTransfer& watched);
    /// False: exit at once.
    bool on_signal(int signal, Instant now);
    /// Reads keys and rights again. If they cannot be used, the earlier ones stay.
    void reload();
    /// Tells the running transfers to end.
    void wind_up(ErrorCode code, const std::string& why);
    [[nodiscard]] bool over();
    void look(Instant now);
    void display(Instant now, const TransferTable::Transfers& transfers);

    const RecvRun& run_;
    const Rate told_ = ServerObservers::first_cap(run_.command);
    const Instant start_;
    AuthorizedKeys keys_;
    Access access_;
    std::optional<transfer::ReceiptFile> receipt_;
    ServerEnd end_{run_.command.one_off, run_.command.longest_drain};
    RefusalLog refusals_{run_.log, run_.command.common.verbose};
    TransferTable table_;
    std::atomic<bool> served_{false};    // one transfer was served to its end
    std::atomic<bool> stopping_{false};  // a signal stops the server

    std::mutex mutex_;  // guards the members below
    ProgressDisplay display_;
    TotalReport total_{run_.command};
    ServerObservers observers_{run_.command, run_.log};
    bool reported_ = false;

    std::optional<transfer::Server> server_;  // destroyed first, because its threads use the members above
};

// Runs a listening receiver once: from checked options to the report.

/// Calls `leave`, which must not return, if threads may still be blocked in a disk call after an interruption.
/// Otherwise returns the report.
[[nodiscard]] FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&));

}  // namespace udtx::apps

// A receiver's run as a server, from the first client until the last has left: logs the clients, and decides when the
// run ends.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "observe/progress_display.hpp"
#include "options/run.hpp"
#include "serve/access.hpp"
#include "serve/refusal_log.hpp"
#include "serve/server_end.hpp"
#include "serve/server_observers.hpp"
#include "serve/total_report.hpp"
#include "serve/transfer_table.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

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

}  // namespace udtx::apps

// A receiver's run as a server, from the first who knocks until the last has left: what is told of those who come, and
// when it ends.
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

/// In this order: open(), open_files(), observe(), start(), serve(), report(), stop(), stop_observing(). One thread.
class ServerRun {
  public:
    /// Both outlive it.
    ServerRun(const RecvRun& run, const AuthorizedKeys& keys);
    ~ServerRun() { stop_observing(); }
    ServerRun(const ServerRun&) = delete;
    ServerRun& operator=(const ServerRun&) = delete;

    /// The socket to listen on; no thread.
    Result<void> open(const Credentials& credentials);
    [[nodiscard]] const transfer::Server& server() const { return *server_; }
    /// Receipt and report: what has to be open before the process gives up the right to open it.
    Result<void> open_files();
    /// What the sandbox lets be written.
    void note_places(const std::vector<std::string>& directories) { access_.note_places(directories); }
    /// From now on others may look on, and change the rates.
    Result<void> observe();
    void stop_observing() { observers_.stop(); }
    Result<void> start() { return server_->start(); }

    /// Until the one transfer is over or a signal came. False when transfers had to be left behind.
    [[nodiscard]] bool serve();
    /// Of the whole run: the one transfer's, or the sum. Nothing is told of any transfer after it.
    [[nodiscard]] FinalReport report();
    /// Lets closes reach the peers.
    void stop() { server_->stop(); }
    /// Nothing stays of a receipt that was not finished.
    void discard_receipt() const noexcept;

  private:
    [[nodiscard]] transfer::ServerOptions options(const Credentials& credentials);
    /// Protocol thread.
    [[nodiscard]] Result<transfer::Admission> admit(const transfer::Client& client) const;
    /// Protocol thread.
    void connection_failed(const Address& from, const Error& why);
    /// The server's thread.
    void ended(const transfer::ServedTransfer& transfer);
    /// False: it was no transfer.
    bool tell(const WatchedTransfer& watched);
    /// False: leave at once.
    bool on_signal(int signal, Instant now);
    [[nodiscard]] bool over();
    void look(Instant now);
    void display(Instant now, const TransferTable::Transfers& transfers);

    const RecvRun& run_;
    const Rate told_ = ServerObservers::first_cap(run_.command);
    const Instant start_;
    Access access_;
    std::optional<transfer::ReceiptFile> receipt_;
    ServerEnd end_{run_.command.one_off};
    RefusalLog refusals_{run_.log, run_.command.common.verbose};
    TransferTable table_;
    std::atomic<bool> served_{false};    // a transfer, to its end
    std::atomic<bool> stopping_{false};  // by a signal

    std::mutex mutex_;  // guards what follows
    ProgressDisplay display_;
    TotalReport total_{run_.command};
    ServerObservers observers_{run_.command, run_.log};
    bool reported_ = false;

    std::optional<transfer::Server> server_;  // goes first: its threads ask for what is above
};

}  // namespace udtx::apps

// Serves those who send to this host and those who fetch from it, from the first who knocks until the last has left.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/transport.hpp"
#include "observe/progress_display.hpp"
#include "options/run.hpp"
#include "serve/access.hpp"
#include "serve/connection_table.hpp"
#include "serve/refusal_log.hpp"
#include "serve/server_end.hpp"
#include "serve/server_observers.hpp"
#include "serve/total_report.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// In this order: open_report(), observe(), listen(), serve(), report(), stop_observing(). One thread, which is not the
/// protocol thread.
class Server {
  public:
    /// All outlive it. `receipt`: of --one-off; may be null.
    Server(const RecvRun& run, Transport& transport, const AuthorizedKeys& keys, transfer::ReceiptWriter* receipt);

    /// What the sandbox lets be written.
    void note_places(const std::vector<std::string>& directories) { access_.note_places(directories); }
    Result<void> open_report() { return observers_.open_report(); }
    /// From now on others may look on, and change the rates. `port`: on which it listens.
    Result<void> observe(std::uint16_t port);
    void stop_observing() { observers_.stop(); }
    void listen();

    /// Until the one transfer is over or a signal came. False when transfers had to be left behind.
    [[nodiscard]] bool serve();
    /// Of the whole run: the one transfer's, or the sum.
    [[nodiscard]] FinalReport report();

  private:
    /// True: all is over.
    bool look(Instant now);
    /// Whoever knocks; protocol thread.
    std::shared_ptr<proto::ConnectionHandler> accept(proto::Connection& connection);
    [[nodiscard]] std::shared_ptr<ServedConnection> make_served(proto::Connection& connection, const Visitor& visitor,
                                                                std::string who, std::uint64_t owner);
    /// A handshake that failed at our end; protocol thread.
    void refused(const Address& remote, const proto::CloseReason& why);
    /// Says whose wish was refused.
    void note_refusal(const std::string& who, const Error& error);
    /// False: leave at once.
    bool on_signal(int signal, Instant now);
    /// What is over is told and counted; without memory for that it stays, and is told again.
    void reap();
    /// False: it was no transfer.
    bool tell(ServedConnection& connection);
    /// After a signal the process ends whatever a disk does; in good order when all have ended.
    [[nodiscard]] bool may_leave() const { return end_.interrupted() || connections_.all_at_rest(); }
    void display(Instant now, const ConnectionTable::Connections& connections);

    const RecvRun& run_;
    Transport& transport_;
    Access access_;
    transfer::ReceiptWriter* receipt_;
    const Rate told_ = ServerObservers::first_cap(run_.command);
    ProgressDisplay display_;
    Instant start_;
    ServerEnd end_{run_.command.one_off};
    TotalReport total_{run_.command};
    RefusalLog refusals_{run_.log, run_.command.common.verbose};
    ConnectionTable connections_{run_.command.one_off};
    ServerObservers observers_{run_.command, run_.log};  // goes first: its threads ask for what is above
};

}  // namespace udtx::apps

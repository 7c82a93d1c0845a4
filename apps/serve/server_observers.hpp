// All who observe a receiver's transfers, and who may change what they take together: JSON stream, metrics, control
// socket, --max-rate, schedule.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "control/control_commands.hpp"
#include "control/observer_services.hpp"
#include "observe/final_report.hpp"
#include "options/recv_command.hpp"
#include "page/live_page.hpp"
#include "serve/transfer_table.hpp"

namespace udtx::apps {

class ServerObservers {
  public:
    using Transfers = TransferTable::Transfers;

    ServerObservers(const RecvCommand& command, Log& log);
    /// What has to be open before the process gives up the right to open it.
    [[nodiscard]] Result<void> open_report();
    /// `under_way`: any thread asks. `print`: where the JSON stream goes. `port`: on which it listens.
    Result<void> start(std::uint16_t port, std::function<Transfers()> under_way, JsonTicker::Print print);

    /// Lets nobody ask any more; its socket goes.
    void stop();

    /// One thread. `protocol`: what the protocol thread has needed so far.
    void tick(Instant now, Duration since_start, const Transfers& transfers, Duration protocol);
    void ended(const WatchedTransfer& transfer, const FinalReport& report);
    /// When all is over: tells those who observe the page, and writes the report.
    void finish(Duration since_start, const Transfers& transfers, FinalReport& report);
    /// Any thread: somebody was not served.
    void refused() noexcept { ++refused_; }
    /// The most that a sender may be told in the handshake; protocol thread.
    [[nodiscard]] static Rate first_cap(const RecvCommand& command);

  private:
    [[nodiscard]] std::string metrics() const;
    [[nodiscard]] ControlStatus control_status(std::uint16_t port) const;

    const RecvCommand& command_;
    Log& log_;
    std::function<Transfers()> under_way_;
    RateGovernor rates_;
    std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::optional<JsonTicker> json_;
    std::optional<Observation> last_;  // of the one transfer, once it is over
    std::unique_ptr<LivePage> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<ControlSocket> control_;
};

}  // namespace udtx::apps

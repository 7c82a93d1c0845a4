// All observers of a receiver's transfers, and all that may change their common rate: JSON stream, metrics, control
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
    /// Opens the report before the process gives up the right to open files.
    [[nodiscard]] Result<void> open_report();
    /// `under_way` must be callable on any thread. `print` writes the JSON stream. `port`: the port that the server
    /// listens on.
    Result<void> start(std::uint16_t port, std::function<Transfers()> under_way, JsonTicker::Print print);

    /// Stops the servers and removes the control socket.
    void stop();

    /// Always call it on the same thread. `protocol`: processor time of the protocol thread so far.
    void tick(Instant now, Duration since_start, const Transfers& transfers, Duration protocol);
    void ended(const WatchedTransfer& transfer, const FinalReport& report);
    /// Call it after all transfers have ended. Updates those who have the page open, and writes the report.
    void finish(Duration since_start, const Transfers& transfers, FinalReport& report);
    /// Any thread: counts a refused client.
    void refused() noexcept { ++refused_; }
    /// The highest rate that a handshake may announce to a sender. Called on the protocol thread.
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
    std::optional<Observation> last_;  // the single transfer, after its end
    std::unique_ptr<LivePage> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<ControlSocket> control_;
};

}  // namespace udtx::apps

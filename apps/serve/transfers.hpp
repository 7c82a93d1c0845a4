// The transfers of a server: each with its client, and the observations of all.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/guarded.hpp"
#include "common/log.hpp"
#include "control/control.hpp"
#include "observe/final_report.hpp"
#include "observe/observer.hpp"
#include "options/commands.hpp"
#include "page/page.hpp"
#include "serve/access.hpp"
#include "udtx/rate.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

// One connection of a server: its client, and the observations of it.

class WatchedTransfer {
  public:
    /// A transfer without progress for this time leaves its share of the rate to the others.
    static constexpr Duration kStandsStillAfter = std::chrono::seconds(5);

    /// `told`: the rate that the handshake announced to the peer.
    WatchedTransfer(transfer::ServedTransfer transfer, const Access& access, Rate told);

    // --- functions for any thread
    [[nodiscard]] const transfer::ServedTransfer& transfer() const noexcept { return transfer_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    /// The peer for messages, with the name of its key.
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    /// The directory that the peer may use; empty: none.
    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
    /// True if the peer asked to fetch, granted or not.
    [[nodiscard]] bool fetched() const { return transfer_.kind() == transfer::ServedTransfer::Kind::pull; }
    /// Direction and peer: "to 192.0.2.1:40000 (bob)".
    [[nodiscard]] std::string direction() const { return (fetched() ? "to " : "from ") + who_; }
    /// True if the peer waits for something, or is gone without a close.
    [[nodiscard]] bool stands_still() const { return transfer_.idle() >= kStandsStillAfter; }
    /// The observation of the last look().
    [[nodiscard]] Observation observed() const { return observer_.latest(); }
    /// True if the transfer's end is reported and counted.
    [[nodiscard]] bool told() const noexcept { return told_; }
    void set_told() noexcept { told_ = true; }

    // --- functions for one thread
    /// `protocol`: processor time of the protocol thread so far.
    void look(Duration protocol);
    /// Caps the transfer's rate from now on at the lower of `rate` and the rate of its key.
    void keep_below(Rate rate);

  private:
    const transfer::ServedTransfer transfer_;
    const std::string peer_;
    const std::string who_;
    const std::string directory_;
    const Rate most_;  // rate of the peer's key
    Rate cap_;
    Observer observer_;
    std::atomic<bool> told_{false};
};

// The clients that a server serves, with the observations of each.

/// Any thread may use it.
class TransferTable {
  public:
    using Ask = std::function<std::vector<transfer::ServedTransfer>()>;
    using Transfers = std::vector<std::shared_ptr<WatchedTransfer>>;

    /// `access` and `log` must outlive it. `told`: the rate that handshakes announce. `ask` returns
    /// transfer::Server::transfers().
    TransferTable(const Access& access, Log& log, Rate told, Ask ask)
        : access_(access), log_(log), told_(told), ask_(std::move(ask)) {}

    /// Transfers whose end is not reported yet.
    [[nodiscard]] Transfers under_way();
    /// Finds a transfer that the server still has.
    [[nodiscard]] std::shared_ptr<WatchedTransfer> find(const transfer::ServedTransfer& transfer) {
        return find(*known_.lock(), transfer);
    }

  private:
    using Known = std::map<std::uint64_t, std::shared_ptr<WatchedTransfer>>;
    std::shared_ptr<WatchedTransfer> find(Known& known, const transfer::ServedTransfer& transfer);

    const Access& access_;
    Log& log_;
    const Rate told_;
    const Ask ask_;
    Guarded<Known> known_;  // key: Client::number
};

// All observers of a receiver's transfers, and all that may change their common rate: JSON stream, metrics, control
// socket, --max-rate, schedule.

class ServerObservers {
  public:
    using Transfers = TransferTable::Transfers;

    /// `refused`: the number of refused clients.
    ServerObservers(const RecvCommand& command, Log& log, const std::atomic<std::uint64_t>& refused);
    /// Opens the report before the process gives up the right to open files.
    [[nodiscard]] Result<void> open_report();
    /// `under_way` must be callable on any thread. `print` writes the JSON stream. `port`: the port that the server
    /// listens on.
    Result<void> start(std::uint16_t port, std::function<Transfers()> under_way, JsonTicker::Print print);

    /// The servers of the control socket and of the metrics, which end with the result. Destroy it without a lock that
    /// a transfer's thread may wait for, because their threads ask about the transfers.
    [[nodiscard]] std::array<std::unique_ptr<HttpServer>, 2> take_servers() {
        return {std::move(control_), std::move(metrics_)};
    }

    /// Always call it on the same thread. `protocol`: processor time of the protocol thread so far.
    void tick(Instant now, Duration since_start, const Transfers& transfers, Duration protocol);
    void ended(const WatchedTransfer& transfer, const FinalReport& report);
    /// Call it after all transfers have ended. Updates those who have the page open, and writes the report.
    void finish(Duration since_start, const Transfers& transfers, FinalReport& report);
    /// The highest rate that a handshake may announce to a sender. Called on the protocol thread.
    [[nodiscard]] static Rate first_cap(const RecvCommand& command);

  private:
    [[nodiscard]] std::string metrics() const;
    [[nodiscard]] Described describe(std::uint16_t port) const;

    const RecvCommand& command_;
    Log& log_;
    const std::string user_ = user_name();  // looked up before the sandbox cuts off the name service
    std::function<Transfers()> under_way_;
    RateGovernor rates_;
    std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::atomic<std::uint64_t> bytes_{0};
    const std::atomic<std::uint64_t>& refused_;
    std::optional<JsonTicker> json_;
    std::optional<Observation> last_;  // the single transfer, after its end
    std::unique_ptr<LivePage> page_;
    std::unique_ptr<HttpServer> metrics_;
    std::unique_ptr<HttpServer> control_;
};

}  // namespace udtx::apps

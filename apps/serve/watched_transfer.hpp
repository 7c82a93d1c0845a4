// One connection of a server: its client, and the observations of it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "observe/observer.hpp"
#include "serve/access.hpp"
#include "udtx/rate.hpp"
#include "udtx/time.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

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

}  // namespace udtx::apps

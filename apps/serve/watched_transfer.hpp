// One connection being served: whom it serves, and what was seen of it.
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
    /// A peer from which nothing has come for so long leaves its share of the rate to the others.
    static constexpr Duration kStandsStillAfter = std::chrono::seconds(5);

    /// `told`: the rate that the handshake told the peer.
    WatchedTransfer(transfer::ServedTransfer transfer, const Access& access, Rate told);

    // --- any thread
    [[nodiscard]] const transfer::ServedTransfer& transfer() const noexcept { return transfer_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    /// The peer for people, with the name of its key.
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    /// Where it may be at work; empty: none.
    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
    /// The peer asked for something, granted or not.
    [[nodiscard]] bool fetched() const { return transfer_.kind() == transfer::ServedTransfer::Kind::pull; }
    /// "to 192.0.2.1:40000 (bob)": whom it serves, and which way.
    [[nodiscard]] std::string direction() const { return (fetched() ? "to " : "from ") + who_; }
    /// Its peer waits for something, or is gone without a word.
    [[nodiscard]] bool stands_still() const { return transfer_.idle() >= kStandsStillAfter; }
    /// What look() saw last.
    [[nodiscard]] Observation observed() const { return observer_.latest(); }
    /// Its end has been told and counted.
    [[nodiscard]] bool told() const noexcept { return told_; }
    void set_told() noexcept { told_ = true; }

    // --- one thread
    /// `protocol`: what the protocol thread has needed so far.
    void look(Duration protocol);
    /// The transfer is to keep to this rate from now on, or to that of its key where that is less.
    void keep_below(Rate rate);

  private:
    const transfer::ServedTransfer transfer_;
    const std::string peer_;
    const std::string who_;
    const std::string directory_;
    const Rate most_;  // of the peer's key
    Rate cap_;
    Observer observer_;
    std::atomic<bool> told_{false};
};

}  // namespace udtx::apps

// The connections that a server has: who is let in, who is under way, and who is over but still held by a disk call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "serve/served_connection.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class ConnectionTable {
  public:
    using Connection = std::shared_ptr<ServedConnection>;
    using Connections = std::vector<Connection>;

    /// `one_off`: one transfer, and nobody after it.
    explicit ConnectionTable(bool one_off) : one_off_(one_off) {}

    // --- any thread
    /// Puts in what `make` makes, if one more of this owner (KeyBudget) comes in. interrupted: close() was called;
    /// refused, network: there is no room.
    [[nodiscard]] Result<Connection> admit(std::uint64_t owner, const std::function<Connection()>& make);
    /// Lets nobody in any more. Those who are in.
    Connections close();
    [[nodiscard]] Connections under_way() const;

    // --- one thread
    /// One that is over; null: there is none.
    [[nodiscard]] Connection first_done() const;
    /// What may have to wait for memory, before anything is said of one that is over.
    void make_room_to_retire() { over_.reserve(over_.size() + 1); }
    /// It is not under way any more. `was_transfer`: it was what a receiver of one transfer waits for. Whoever lets go
    /// of a sending job waits for its disk: not the protocol thread, and not before its disk calls have ended.
    void retire(const Connection& connection, bool was_transfer);
    /// Lets go of those that nobody holds any more.
    void release_rested();
    /// No connection that is over sits in a disk call.
    [[nodiscard]] bool all_at_rest() const;

  private:
    bool one_off_;
    Connections over_;

    mutable std::mutex mutex_;  // guards what follows
    bool closed_ = false;
    bool admitted_ = false;
    Connections under_way_;
};

}  // namespace udtx::apps

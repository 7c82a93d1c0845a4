// Lanes decrypt received batches ahead of the protocol thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "udtx/core/datagram.hpp"

namespace udtx::io {

/// Splits a batch into pieces. The protocol thread takes the packets in their order. Lanes open pieces that it has not
/// reached. It opens the packets of an unclaimed piece itself, so it never waits for a lane that sleeps.
///
/// Order of calls on the protocol thread: begin(), then reach() for each datagram in turn, then end(). Lanes run work()
/// whenever `call` was called.
class OpenLanes {
  public:
    /// Returns what is needed to open packets like this one.
    using Plan = std::function<std::optional<proto::Opening>(std::span<const std::byte> datagram)>;

    /// `call`: wakes so many lanes for work.
    OpenLanes(Plan plan, std::function<void(std::size_t lanes)> call);

    void begin(std::span<proto::RxDatagram> batch);
    /// On return the caller may read the datagram: it is opened, or unchanged.
    void reach(std::size_t index) {
        if (index % kPiece == 0 && index / kPiece < pieces_.size()) take(index / kPiece);
    }
    /// Call it after reach() of every datagram.
    void end();
    /// Opens one piece on `lane`; false if there is none.
    bool work(std::size_t lane);

  private:
    static constexpr std::size_t kPiece = 32;
    struct Piece {
        std::optional<proto::Opening> opening;
        std::span<proto::RxDatagram> datagrams;
        bool done = false;
    };

    void take(std::size_t index);

    Plan plan_;
    std::function<void(std::size_t)> call_;
    // Written only while no lane can claim a piece. A claimed piece belongs to its claimer until it is done.
    std::vector<Piece> pieces_;
    std::mutex mutex_;  // guards the members below and Piece::done
    std::condition_variable done_;
    std::size_t next_ = 0;       // the next piece to claim
    std::size_t claimable_ = 0;  // pieces below this may be claimed
};

}  // namespace udtx::io

// Received batches, opened ahead of the protocol thread.
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

/// A batch is cut into pieces. The protocol thread takes the packets in their order; lanes open pieces that it has not
/// come to, and it opens the packets itself of one that nobody has begun. So it never waits for a lane that sleeps.
///
/// Order of calls on the protocol thread: begin(), then reach() for each datagram in turn, then end(). work() on the
/// lanes, whenever `call` was called.
class OpenLanes {
  public:
    /// How packets like this one are opened.
    using Plan = std::function<std::optional<proto::Opening>(std::span<const std::byte> datagram)>;

    /// `call`: there is work for so many lanes.
    OpenLanes(Plan plan, std::function<void(std::size_t lanes)> call);

    void begin(std::span<proto::RxDatagram> batch);
    /// On return the datagram is the caller's to read: opened, or left as it was.
    void reach(std::size_t index) {
        if (index % kPiece == 0 && index / kPiece < pieces_.size()) take(index / kPiece);
    }
    /// Every datagram was reached.
    void end();
    /// Opens a piece on `lane`; false when there is none.
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
    std::vector<Piece> pieces_;  // written while no lane can claim one; a claimed one is its claimer's until done
    std::mutex mutex_;           // guards what follows, and Piece::done
    std::condition_variable done_;
    std::size_t next_ = 0;       // to be claimed
    std::size_t claimable_ = 0;  // as far as that
};

}  // namespace udtx::io

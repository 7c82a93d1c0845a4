// Items that the sender's disk side hands to the protocol thread. They are packed so that small files are cheap.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "transfer/bounded_queue.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/message_writer.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "udtx/core/chunk.hpp"

namespace udtx::transfer {

/// The control bytes are sent before the data, so an entry is always announced before its data.
struct Outgoing {
    std::vector<std::byte> control;
    Chunk data;
    std::optional<message::Finish> finish;  ///< the last item; its message is part of `control`
};

inline constexpr std::size_t kMaxOutgoingBytes = 8U << 20U;
/// A queue that also supplies the blocks for file data.
class OutgoingQueue : public BoundedQueue<Outgoing> {
  public:
    explicit OutgoingQueue(std::size_t max_cost);
    [[nodiscard]] Chunk block() { return blocks_.take(); }
    /// Does the same as cancel(), and frees the idle blocks.
    void end() {
        cancel();
        blocks_.keep_none();
    }
    /// Any thread: memory of the queued items and of idle blocks.
    [[nodiscard]] std::uint64_t held() const { return cost() + blocks_.idle_bytes(); }

  private:
    ChunkPool blocks_;
};

class OutgoingPacker {
  public:
    OutgoingPacker(OutgoingQueue& queue, LateWaker& waker);

    /// Records every message in the receipt as well.
    void copy_to(ReceiptWriter* receipt) { receipt_ = receipt; }
    void message(const Message& message);
    /// Space for file data, never empty; fill it from the front, then call advance().
    [[nodiscard]] std::span<std::byte> space();
    void advance(std::size_t bytes);
    /// Queues what is pending. False: the protocol side has ended.
    bool flush();
    void finish(const message::Finish& finish);
    [[nodiscard]] std::size_t pending() const noexcept { return used_ - begin_ + control_.bytes().size(); }
    /// True if nothing new should be started.
    [[nodiscard]] bool full() const { return queue_.full(); }
    /// closed(): the protocol side has ended. stopped(): a flush() has noticed that.
    [[nodiscard]] bool closed() const { return queue_.closed(); }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  private:
    OutgoingQueue& queue_;
    LateWaker& waker_;
    ReceiptWriter* receipt_ = nullptr;
    MessageWriter control_;
    Chunk chunk_;
    std::size_t begin_ = 0;  // start of the data that was not queued yet
    std::size_t used_ = 0;
    bool stopped_ = false;
};

}  // namespace udtx::transfer

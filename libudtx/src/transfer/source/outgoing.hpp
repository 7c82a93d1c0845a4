// What the disk side of the sender hands to the protocol thread, packed so that small files are cheap.
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

/// The control bytes go out before the data; an entry is thus always announced before its data is written.
struct Outgoing {
    std::vector<std::byte> control;
    Chunk data;
    std::optional<message::Finish> finish;  ///< the last item; its message is part of `control`
};

inline constexpr std::size_t kMaxOutgoingBytes = 8U << 20U;
/// With the blocks that file data travels in.
class OutgoingQueue : public BoundedQueue<Outgoing> {
  public:
    explicit OutgoingQueue(std::size_t max_cost);
    [[nodiscard]] Chunk block() { return blocks_.take(); }
    /// cancel(), and no block is kept.
    void end() {
        cancel();
        blocks_.keep_none();
    }
    /// Any thread: memory of what is in it, and of blocks that wait to be used again.
    [[nodiscard]] std::uint64_t held() const { return cost() + blocks_.idle_bytes(); }

  private:
    ChunkPool blocks_;
};

class OutgoingPacker {
  public:
    OutgoingPacker(OutgoingQueue& queue, LateWaker& waker);

    /// Every message is noted there as well.
    void copy_to(ReceiptWriter* receipt) { receipt_ = receipt; }
    void message(const Message& message);
    /// Room for file data, never empty; fill it from the front, then advance().
    [[nodiscard]] std::span<std::byte> space();
    void advance(std::size_t bytes);
    /// Hands over what there is. False: the protocol side has gone.
    bool flush();
    void finish(const message::Finish& finish);
    [[nodiscard]] std::size_t pending() const noexcept { return used_ - begin_ + control_.bytes().size(); }
    /// Nothing more should be begun.
    [[nodiscard]] bool full() const { return queue_.full(); }
    /// The protocol side has gone: what it was, and what a flush() has found out.
    [[nodiscard]] bool closed() const { return queue_.closed(); }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  private:
    OutgoingQueue& queue_;
    LateWaker& waker_;
    ReceiptWriter* receipt_ = nullptr;
    MessageWriter control_;
    Chunk chunk_;
    std::size_t begin_ = 0;  // of what was not handed over yet
    std::size_t used_ = 0;
    bool stopped_ = false;
};

}  // namespace udtx::transfer

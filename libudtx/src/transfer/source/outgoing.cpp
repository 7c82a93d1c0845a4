#include "transfer/source/outgoing.hpp"

#include <utility>

namespace udtx::transfer {

namespace {

constexpr std::size_t kChunkBytes = 1U << 20U;
constexpr std::size_t kIdleChunks = 16;
constexpr std::size_t kMaxControlBytes = 32U << 10U;

}  // namespace

OutgoingQueue::OutgoingQueue(std::size_t max_cost)
    : BoundedQueue<Outgoing>(max_cost), blocks_(kChunkBytes, kIdleChunks) {}

OutgoingPacker::OutgoingPacker(OutgoingQueue& queue, LateWaker& waker) : queue_(queue), waker_(waker) {}

void OutgoingPacker::message(const Message& message) {
    if (control_.bytes().size() >= kMaxControlBytes) flush();
    if (receipt_ != nullptr) receipt_->note(message);
    control_.put(message);
}

std::span<std::byte> OutgoingPacker::space() {
    if (used_ == kChunkBytes) flush();
    if (used_ == chunk_.size()) {
        chunk_ = queue_.block();
        begin_ = used_ = 0;
    }
    return chunk_.writable().subspan(used_);
}

void OutgoingPacker::advance(std::size_t bytes) { used_ += bytes; }

bool OutgoingPacker::flush() {
    if (pending() == 0 || stopped_) return !stopped_;
    Outgoing item;
    item.control.assign(control_.bytes().begin(), control_.bytes().end());
    control_.clear();
    // The next data follows in the same block, so that a few bytes do not occupy a block of their own.
    if (used_ > begin_) item.data = chunk_.part(begin_, used_ - begin_);
    begin_ = used_;
    const std::size_t cost = item.control.size() + item.data.size() + sizeof(Outgoing);
    stopped_ = !queue_.push(std::move(item), cost);
    waker_.wake();
    return !stopped_;
}

void OutgoingPacker::finish(const message::Finish& finish) {
    flush();
    MessageWriter last;
    last.put(finish);
    Outgoing item;
    item.control.assign(last.bytes().begin(), last.bytes().end());
    item.finish = finish;
    stopped_ = !queue_.push(std::move(item), 0);
    waker_.wake();
}

}  // namespace udtx::transfer

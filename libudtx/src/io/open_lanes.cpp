#include "io/open_lanes.hpp"

#include <algorithm>
#include <utility>

#include "udtx/core/lane_work.hpp"

namespace udtx::io {

OpenLanes::OpenLanes(Plan plan, std::function<void(std::size_t)> call)
    : plan_(std::move(plan)), call_(std::move(call)) {}

void OpenLanes::begin(std::span<proto::RxDatagram> batch) {
    pieces_.clear();
    // Opening one piece takes less time than waking another thread.
    if (batch.size() < 2 * kPiece) return;
    for (std::size_t at = 0; at < batch.size(); at += kPiece) {
        const auto datagrams = batch.subspan(at, std::min(kPiece, batch.size() - at));
        pieces_.push_back({.opening = plan_(datagrams.front().data), .datagrams = datagrams});
    }
    {
        const std::lock_guard lock(mutex_);
        next_ = 0;
        claimable_ = pieces_.size();
    }
    call_(pieces_.size() - 1);
}

void OpenLanes::take(std::size_t index) {
    std::unique_lock lock(mutex_);
    if (next_ <= index) {
        next_ = index + 1;
        return;
    }
    done_.wait(lock, [&] { return pieces_[index].done; });
}

void OpenLanes::end() {
    if (pieces_.empty()) return;
    const std::lock_guard lock(mutex_);
    claimable_ = 0;
}

bool OpenLanes::work(std::size_t lane) {
    std::unique_lock lock(mutex_);
    if (next_ >= claimable_) return false;
    Piece& piece = pieces_[next_++];
    lock.unlock();
    if (piece.opening) {
        for (proto::RxDatagram& datagram : piece.datagrams) proto::open_packet(*piece.opening, datagram, lane + 1);
    }
    lock.lock();
    piece.done = true;
    lock.unlock();
    done_.notify_one();
    return true;
}

}  // namespace udtx::io

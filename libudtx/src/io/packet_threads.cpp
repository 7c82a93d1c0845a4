#include "io/packet_threads.hpp"

#include <poll.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "udtx/core/datagram.hpp"
#include "udtx/system.hpp"

namespace udtx::io {

Crew::Crew(std::size_t packet_threads, Work work) : work_(std::move(work)) {
    threads_.reserve(packet_threads);
    for (std::size_t thread = 0; thread < packet_threads; ++thread) {
        try {
            threads_.emplace_back([this, thread] { run(thread); });
        } catch (const std::system_error&) {
            if (threads_.empty()) throw;
            return;
        }
    }
}

Crew::~Crew() {
    {
        const Lock lock(mutex_);
        ended_ = true;
    }
    called_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Crew::call(std::size_t packet_threads) {
    {
        const Lock lock(mutex_);
        ++calls_;
    }
    if (packet_threads >= threads_.size()) {
        called_.notify_all();
        return;
    }
    for (std::size_t i = 0; i < packet_threads; ++i) called_.notify_one();
}

void Crew::run(std::size_t thread) {
    const Lock lock(mutex_);
    while (!ended_) {
        const std::uint64_t seen = calls_;  // so a call() during the work is not missed
        try {
            const Unlock unlock(mutex_);
            while (work_(thread)) {
            }
        } catch (const std::exception&) {
            // There is no memory to report it. The next call finds the remaining work.
        }
        while (!ended_ && calls_ == seen) called_.wait(mutex_);
    }
}

namespace {

// Batches in the ring have left the pacer but not the host, and show as delay. So the ring is only slightly larger than
// needed to keep all threads busy.
constexpr std::size_t kBatchesPerThread = 3;
constexpr std::size_t kOwnBatches = 2;
// Sealing fewer packets takes less time than waking another thread.
constexpr std::size_t kWorthwhile = 8;
constexpr int kWaitMs = 5;
constexpr Duration kFlushAtMost = std::chrono::milliseconds(200);

}  // namespace

ParallelSend::ParallelSend(DatagramSocket& socket, std::size_t packet_threads, std::size_t batch_bytes,
                           PacketThreadsOwner& owner, CallThreads call)
    : socket_(socket), owner_(owner), call_(std::move(call)), ring_(kBatchesPerThread * packet_threads + kOwnBatches) {
    for (Batch& batch : ring_) batch.bytes.resize(batch_bytes);
}

std::span<std::byte> ParallelSend::room() {
    const Lock lock(mutex_);
    // Helping the packet threads is better than waiting for them.
    while (head_ - tail_ == ring_.size()) {
        const bool sealed = seal_one(nullptr);
        const bool sent = send_sealed(false);
        // While the lock was released, a packet thread may have made room without reporting it.
        if (sealed || sent || head_ - tail_ < ring_.size()) continue;
        wants_room_ = true;
        return {};
    }
    building_ = &at(head_);
    return building_->bytes;
}

void ParallelSend::submit(proto::Transmit transmit) {
    assert(building_ != nullptr);                       // room() was called
    Batch& batch = *std::exchange(building_, nullptr);  // no other thread uses it before it is in the ring
    const bool clear = transmit.key != nullptr;
    const bool worthwhile = clear && transmit.size >= kWorthwhile * transmit.segment;
    batch.transmit = std::move(transmit);
    batch.sent = 0;
    if (clear && !worthwhile) {
        const proto::Transmit& t = batch.transmit;
        proto::seal_batch(t, std::span(batch.bytes).first(t.size), 0);
    }
    {
        const Lock lock(mutex_);
        batch.state.enter(worthwhile ? State::built : State::sealed);
        ++head_;
        if (!worthwhile) send_sealed(false);
    }
    if (worthwhile) call_(1);
}

bool ParallelSend::work(std::size_t thread) {
    const Lock lock(mutex_);
    const bool sealed = seal_one(&thread);
    const bool sent = send_sealed(true);
    return sealed || sent;
}

/// `thread`: null on the protocol thread.
bool ParallelSend::seal_one(const std::size_t* thread) {
    while (claim_ < head_ && at(claim_).state != State::built) ++claim_;
    if (claim_ == head_) return false;
    Batch& batch = at(claim_++);
    batch.state.enter(State::sealing);
    {
        const Unlock unlock(mutex_);
        const proto::Transmit& t = batch.transmit;
        proto::seal_batch(t, std::span(batch.bytes).first(t.size), thread != nullptr ? *thread + 1 : 0);
    }
    batch.state.enter(State::sealed);
    return true;
}

/// Returns true if it sent something.
bool ParallelSend::send_sealed(bool may_wait) {
    if (sending_) return false;  // the sending thread checks again before it stops
    bool any = false;
    bool room = false;
    bool full = false;
    sending_ = true;
    while (tail_ < head_ && at(tail_).state == State::sealed) {
        Batch& batch = at(tail_);
        {
            const Unlock unlock(mutex_);
            full = !send_batch(batch, may_wait);
        }
        if (full) break;
        batch.state.enter(State::free);
        batch.transmit = {};
        claim_ = std::max(claim_, ++tail_);
        any = true;
        room = std::exchange(wants_room_, false) || room;
    }
    sending_ = false;
    const bool for_packet_thread = full && !may_wait;  // a packet thread may wait for the socket
    if (!room && !for_packet_thread) return any;
    const Unlock unlock(mutex_);
    if (room) owner_.on_room();
    if (for_packet_thread) call_(1);
    return any;
}

/// False: the socket is full, and the batch stays in the ring.
bool ParallelSend::send_batch(Batch& batch, bool may_wait) {
    SendResult result;
    for (;;) {
        const auto bytes = std::span<const std::byte>(batch.bytes).first(batch.transmit.size).subspan(batch.sent);
        result = socket_.send(batch.transmit, bytes);
        if (result.status != SendResult::Status::would_block) break;
        batch.sent += result.bytes;
        if (!may_wait || stopped_.load(std::memory_order_relaxed)) break;
        pollfd descriptor{socket_.native_handle(), POLLOUT, 0};
        (void)::poll(&descriptor, 1, kWaitMs);
    }
    // Loss recovery handles `dropped`: the network could have lost the batch too.
    const bool refused =
        result.status == SendResult::Status::too_large || result.status == SendResult::Status::no_route;
    if (refused) owner_.on_not_sent(batch.transmit, result);
    return result.status != SendResult::Status::would_block;
}

bool ParallelSend::flush() {
    const Instant until = monotonic_now() + kFlushAtMost;
    const Lock lock(mutex_);
    while (tail_ < head_ && monotonic_now() < until) {
        const bool sealed = seal_one(nullptr);
        const bool sent = send_sealed(false);
        if (sealed || sent) continue;
        const Unlock unlock(mutex_);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return tail_ == head_;
}

void ParallelOpen::begin(std::span<proto::RxDatagram> batch) {
    pieces_.clear();
    // Opening one piece takes less time than waking another thread.
    if (batch.size() < 2 * kPiece) return;
    for (std::size_t at = 0; at < batch.size(); at += kPiece) {
        const auto datagrams = batch.subspan(at, std::min(kPiece, batch.size() - at));
        pieces_.push_back({.opening = owner_.opening_of(datagrams.front().data), .datagrams = datagrams});
    }
    {
        const Lock lock(mutex_);
        assert(claimable_ == 0);  // end() followed the batch before
        next_ = 0;
        claimable_ = pieces_.size();
    }
    call_(pieces_.size() - 1);
}

void ParallelOpen::take(std::size_t index) {
    const Lock lock(mutex_);
    if (next_ <= index) {
        next_ = index + 1;
        return;
    }
    while (!pieces_[index].done) done_.wait(mutex_);
}

void ParallelOpen::end() {
    if (pieces_.empty()) return;
    const Lock lock(mutex_);
    claimable_ = 0;
}

bool ParallelOpen::work(std::size_t thread) {
    {
        const Lock lock(mutex_);
        if (next_ >= claimable_) return false;
        Piece& piece = pieces_[next_++];
        {
            const Unlock unlock(mutex_);
            if (piece.opening) {
                for (proto::RxDatagram& one : piece.datagrams) proto::open_packet(*piece.opening, one, thread + 1);
            }
        }
        piece.done = true;
    }
    done_.notify_one();
    return true;
}

PacketThreads::PacketThreads(DatagramSocket& socket, std::size_t packet_threads, std::size_t batch_bytes,
                             PacketThreadsOwner& owner)
    : send(socket, packet_threads, batch_bytes, owner, [this](std::size_t wanted) { crew_.call(wanted); }),
      open(owner, [this](std::size_t wanted) { crew_.call(wanted); }),
      crew_(packet_threads, [this](std::size_t thread) {
          const bool opened = open.work(thread);
          return send.work(thread) || opened;
      }) {}

}  // namespace udtx::io

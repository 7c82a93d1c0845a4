// Carries batches from the protocol thread to the socket: any free thread seals them, and they are sent in order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "io/udp_socket.hpp"
#include "udtx/core/datagram.hpp"

namespace udtx::io {

/// A ring of batches. The protocol thread fills the next one, and lanes seal them in parallel. One thread at a time
/// sends the oldest sealed batches, in order, through one socket: the first that finds no other thread sending. So
/// packets are sent in the order in which the protocol built them, and packet pairs stay together.
///
/// Order of calls on the protocol thread: room(), then submit() with what was written there, or nothing; then again.
/// Lanes run work() whenever Calls::work was called.
class SendLanes {
  public:
    struct Calls {
        std::function<void()> work;  ///< wakes a lane for work
        std::function<void()> room;  ///< room() was empty and would now return a buffer; any thread
        std::function<void(const proto::Transmit&, const SendResult&)> not_sent;  ///< too_large, no_way; any thread
    };
    SendLanes(DatagramSocket& socket, std::size_t lanes, std::size_t batch_bytes, Calls calls);

    /// Returns the buffer for the next batch. It is empty while the ring is full and the protocol thread itself cannot
    /// shorten it.
    [[nodiscard]] std::span<std::byte> room();
    void submit(proto::Transmit transmit);
    /// Seals or sends a batch on `lane`; false if there is nothing to do.
    bool work(std::size_t lane);
    /// Sends all batches, on the protocol thread; false if the socket stayed full and some are left.
    bool flush();
    /// From now on lanes do not wait for a full socket.
    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

  private:
    enum class State : std::uint8_t { free, built, sealing, sealed };
    struct Batch {
        State state = State::free;
        proto::Transmit transmit;
        std::vector<std::byte> bytes;
        std::size_t sent = 0;
    };
    using Lock = std::unique_lock<std::mutex>;

    bool seal_one(Lock& lock, const std::size_t* lane);
    bool send_sealed(Lock& lock, bool may_wait);
    [[nodiscard]] bool send_front(Lock& lock, Batch& batch, bool may_wait);
    void wait_writable() const;
    [[nodiscard]] Batch& at(std::uint64_t number) { return ring_[static_cast<std::size_t>(number % ring_.size())]; }

    DatagramSocket& socket_;
    Calls calls_;
    std::atomic<bool> stopped_{false};
    // Guards the members below. While a thread seals or sends a batch, the batch belongs to that thread.
    std::mutex mutex_;
    std::vector<Batch> ring_;
    std::uint64_t head_ = 0;   // the next batch to build
    std::uint64_t claim_ = 0;  // no batch before this one waits to be sealed
    std::uint64_t tail_ = 0;   // the next batch to send
    bool sending_ = false;     // a thread is sending
    bool wants_room_ = false;
};

}  // namespace udtx::io

// Batches on their way from the protocol thread to the socket: sealed by whoever is free, sent in order.
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

/// A ring of batches. The protocol thread fills the next one; lanes seal them side by side; the oldest ones that are
/// sealed leave one after the other through one socket, by the hand of the thread that finds nobody else sending. So
/// the order on the line is the one in which the protocol built the packets, and packet pairs stay together.
///
/// Order of calls on the protocol thread: room(), then submit() with what was written there, or nothing; again. work()
/// on the lanes, whenever `call` was called.
class SendLanes {
  public:
    struct Calls {
        std::function<void()> work;  ///< there is work for a lane
        std::function<void()> room;  ///< room() gave none, and would now; any thread
        std::function<void(const proto::Transmit&, const SendResult&)> not_sent;  ///< too_large, no_way; any thread
    };
    SendLanes(DatagramSocket& socket, std::size_t lanes, std::size_t batch_bytes, Calls calls);

    /// Where to build the next batch; empty while the ring is full and the protocol thread itself cannot shorten it.
    [[nodiscard]] std::span<std::byte> room();
    void submit(proto::Transmit transmit);
    /// Seals or sends something on `lane`; false when there is nothing to do.
    bool work(std::size_t lane);
    /// Sends what is there, on the protocol thread; false when a socket that stays full has not taken all.
    bool flush();
    /// Lanes no longer wait for a socket that is full.
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
    std::mutex mutex_;  // guards what follows; a batch that is being sealed or sent belongs to the thread that does it
    std::vector<Batch> ring_;
    std::uint64_t head_ = 0;   // to be built next
    std::uint64_t claim_ = 0;  // none before it waits to be sealed
    std::uint64_t tail_ = 0;   // to be sent next
    bool sending_ = false;     // a thread is about it
    bool wants_room_ = false;
};

}  // namespace udtx::io

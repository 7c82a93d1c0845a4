// Helper threads that encrypt, decrypt and send packets for the protocol thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "io/udp_socket.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::io {

/// What packet threads need from their owner.
class PacketThreadsOwner {
  public:
    virtual ~PacketThreadsOwner() = default;
    /// ParallelSend::room() was empty and would now return a buffer; any thread.
    virtual void on_room() = 0;
    /// The socket refused a batch: too_large, no_route; any thread.
    virtual void on_not_sent(const proto::Transmit& refused, const SendResult& why) = 0;
    /// Returns what is needed to open packets like this one; nullopt: a packet thread cannot. Protocol thread.
    [[nodiscard]] virtual std::optional<proto::Opening> opening_of(std::span<const std::byte> datagram) const = 0;
};

/// Wakes so many packet threads for work; any thread.
using CallThreads = std::function<void(std::size_t packet_threads)>;

/// Each thread is a packet thread, numbered from 0. It does pieces of work while there are any, then sleeps until
/// call(). The caller adds the work first and then calls.
class Crew {
  public:
    /// Does one piece of work; false if there is none.
    using Work = std::function<bool(std::size_t thread)>;

    /// Starts fewer packet threads if the system has no more threads. Throws std::system_error if it cannot start even
    /// one.
    Crew(std::size_t packet_threads, Work work);
    /// Waits until the current pieces of work are finished.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Reports that there is work for `packet_threads` packet threads; any thread.
    void call(std::size_t packet_threads);
    [[nodiscard]] std::size_t packet_threads() const noexcept { return threads_.size(); }

  private:
    void run(std::size_t thread);

    Work work_;
    Mutex mutex_;
    Condition called_;
    std::uint64_t calls_ GUARDED_BY(mutex_) = 0;
    bool ended_ GUARDED_BY(mutex_) = false;
    std::vector<std::thread> threads_;
};

// Carries batches from the protocol thread to the socket: any free thread seals them, and they are sent in order.

/// A ring of batches. The protocol thread fills the next one, and packet threads seal them in parallel. One thread at a
/// time sends the oldest sealed batches, in order, through one socket: the first that finds no other thread sending. So
/// packets are sent in the order in which the protocol built them, and packet pairs stay together.
///
/// Order of calls on the protocol thread: room(), then submit() with what was written there, or nothing; then again.
/// Packet threads run work() whenever `call` was called.
class ParallelSend {
  public:
    ParallelSend(DatagramSocket& socket, std::size_t packet_threads, std::size_t batch_bytes, PacketThreadsOwner& owner,
                 CallThreads call);

    /// Returns the buffer for the next batch. It is empty while the ring is full and the protocol thread itself cannot
    /// shorten it.
    [[nodiscard]] std::span<std::byte> room();
    void submit(proto::Transmit transmit);
    /// Seals or sends a batch on `thread`; false if there is nothing to do.
    bool work(std::size_t thread);
    /// Sends all batches, on the protocol thread; false if the socket stayed full and some are left.
    bool flush();
    /// From now on packet threads do not wait for a full socket.
    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

  private:
    enum class State : std::uint8_t { free, built, sealing, sealed };
    static constexpr Step<State> kBatchSteps[] = {{State::free, State::built},
                                                  {State::free, State::sealed},  // it was worth no packet thread
                                                  {State::built, State::sealing},
                                                  {State::sealing, State::sealed},
                                                  {State::sealed, State::free}};
    struct Batch {
        Lifecycle<kBatchSteps> state{State::free};
        proto::Transmit transmit;
        std::vector<std::byte> bytes;
        std::size_t sent = 0;
    };

    bool seal_one(const std::size_t* thread) REQUIRES(mutex_);
    bool send_sealed(bool may_wait) REQUIRES(mutex_);
    [[nodiscard]] bool send_batch(Batch& batch, bool may_wait);
    [[nodiscard]] Batch& at(std::uint64_t number) { return ring_[static_cast<std::size_t>(number % ring_.size())]; }

    DatagramSocket& socket_;
    PacketThreadsOwner& owner_;
    const CallThreads call_;
    std::atomic<bool> stopped_{false};
    Mutex mutex_;
    // Batch::state needs the mutex. The rest of a batch belongs to the thread that builds, seals or sends it.
    std::vector<Batch> ring_;
    Batch* building_ = nullptr;                   // from room() to submit()
    std::uint64_t head_ GUARDED_BY(mutex_) = 0;   // the next batch to build
    std::uint64_t claim_ GUARDED_BY(mutex_) = 0;  // no batch before this one waits to be sealed
    std::uint64_t tail_ GUARDED_BY(mutex_) = 0;   // the next batch to send
    bool sending_ GUARDED_BY(mutex_) = false;     // a thread is sending
    bool wants_room_ GUARDED_BY(mutex_) = false;
};

// Packet threads decrypt received batches ahead of the protocol thread.

/// Splits a batch into pieces. The protocol thread takes the packets in their order. Packet threads open pieces that it
/// has not reached. It opens the packets of an unclaimed piece itself, so it never waits for a packet thread that
/// sleeps.
///
/// Order of calls on the protocol thread: begin(), then reach() for each datagram in turn, then end(). Packet threads
/// run work() whenever `call` was called.
class ParallelOpen {
  public:
    ParallelOpen(const PacketThreadsOwner& owner, CallThreads call) : owner_(owner), call_(std::move(call)) {}

    void begin(std::span<proto::RxDatagram> batch);
    /// On return the caller may read the datagram: it is opened, or unchanged.
    void reach(std::size_t index) {
        if (index % kPiece == 0 && index / kPiece < pieces_.size()) take(index / kPiece);
    }
    /// Call it after reach() of every datagram.
    void end();
    /// Opens one piece on `thread`; false if there is none.
    bool work(std::size_t thread);

  private:
    static constexpr std::size_t kPiece = 32;
    struct Piece {
        std::optional<proto::Opening> opening;
        std::span<proto::RxDatagram> datagrams;
        bool done = false;
    };

    void take(std::size_t index);

    const PacketThreadsOwner& owner_;
    const CallThreads call_;
    // Written only while no packet thread can claim a piece. A claimed piece belongs to its claimer until it is done.
    std::vector<Piece> pieces_;
    Mutex mutex_;  // also for Piece::done
    Condition done_;
    std::size_t next_ GUARDED_BY(mutex_) = 0;       // the next piece to claim
    std::size_t claimable_ GUARDED_BY(mutex_) = 0;  // pieces below this may be claimed
};

// Threads that relieve the protocol thread of encryption and sending (docs/inside/architecture.md).

/// Most threads that may handle packets, including the protocol thread.
inline constexpr std::size_t kMaxThreads = 16;

class PacketThreads {
  public:
    PacketThreads(DatagramSocket& socket, std::size_t packet_threads, std::size_t batch_bytes,
                  PacketThreadsOwner& owner);
    ~PacketThreads() { send.stop(); }
    PacketThreads(const PacketThreads&) = delete;
    PacketThreads& operator=(const PacketThreads&) = delete;

    ParallelSend send;
    ParallelOpen open;

  private:
    Crew crew_;  // last member: its threads end first
};

}  // namespace udtx::io

// The receiving half of a stream, and the memory of streams.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>

#include "base/containers.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/ids.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"

namespace udtx::stream {

// Size of a window that follows the rate of the path: twice what a round trip delivers. So the window never holds up
// the sender, and the next round trip may deliver twice as much (M. Fisk, W. Feng: Dynamic Right-Sizing in TCP, 2001).

class RightSize {
  public:
    /// `least`: bytes at the start, and the lower bound.
    explicit RightSize(std::uint64_t least) noexcept : least_(least), size_(least) {}

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// Bytes by which the window exceeds its initial size.
    [[nodiscard]] std::uint64_t grown() const noexcept { return size_ - least_; }
    /// Call it at most once per round trip. `in` and `out`: bytes that have entered and left the window so far.
    /// `share`: the part of the time since the last call that one round trip takes. `most`: bytes to which the window
    /// may grow.
    void on_round_trip(std::uint64_t in, std::uint64_t out, double share, std::uint64_t most) noexcept {
        // After a stall, bytes may leave at once that entered over a longer time, or the reverse. So the smaller count
        // is used.
        const auto moved = static_cast<double>(std::min(in - in_, out - out_)) * share;
        in_ = in;
        out_ = out;
        const std::uint64_t wanted = std::clamp(static_cast<std::uint64_t>(2 * moved), least_, std::max(most, least_));
        size_ = std::max(size_, wanted);
        recent_ = std::max(recent_, wanted);
        if (++round_trips_ < kLongTime) return;
        size_ = recent_;
        recent_ = least_;
        round_trips_ = 0;
    }

  private:
    static constexpr int kLongTime = 8;  // round trips: longer than the repair of a loss takes

    std::uint64_t least_;
    std::uint64_t size_;
    std::uint64_t in_ = 0;
    std::uint64_t out_ = 0;
    std::uint64_t recent_ = 0;  // largest size wanted in this period ...
    int round_trips_ = 0;       // ... of so many round trips
};

// Memory of streams: recycled blocks that are filled with bytes from front to back.

inline constexpr std::size_t kBlockBytes = 64U << 10U;

/// The pool that all streams of the process share. Thread-safe.
[[nodiscard]] ChunkPool& blocks();

/// Copies bytes into blocks, one piece behind the other, so that small pieces share a block.
class BlockFiller {
  public:
    /// Copies as many of `bytes` as the block has room for, at least one.
    [[nodiscard]] Chunk copy(std::span<const std::byte> bytes);

  private:
    Chunk block_;
    std::size_t used_ = 0;
};

// Holds out-of-order bytes of an ordered stream, up to a window that the owner enforces. The owner copies them out, or
// takes them as parts of their blocks. Later bytes never overwrite earlier ones, so these parts stay valid.

class Reassembler {
  public:
    /// Stores bytes and returns the number of new ones. Ignores bytes that were read or stored before.
    std::uint64_t insert(std::uint64_t offset, std::span<const std::byte> data);
    /// Copies the next in-order bytes and returns their number.
    std::size_t read(std::span<std::byte> out);
    /// Takes the next in-order bytes that are contiguous in memory. Empty: there are none.
    Chunk take();

    [[nodiscard]] std::uint64_t read_offset() const noexcept { return read_; }
    [[nodiscard]] std::size_t readable() const noexcept;
    /// Number of separate pieces that are stored.
    [[nodiscard]] std::size_t pieces() const noexcept { return stored_.count(); }
    /// Bytes of memory held, a multiple of the block size; at most the window plus one block at either end.
    [[nodiscard]] std::size_t memory() const noexcept;

  private:
    std::byte* locate(std::uint64_t offset);
    /// Number of the next in-order bytes that are contiguous in memory.
    [[nodiscard]] std::size_t together() const noexcept;
    void pass(std::size_t bytes);

    std::deque<Chunk> blocks_;  // blocks_[0] holds offset first_block_ * kBlockBytes
    std::uint64_t first_block_ = 0;
    std::uint64_t read_ = 0;
    RangeSet stored_;
};

// Receiving half of a stream: final size, flow-control credit, and ordered or unordered delivery.

/// Credit is announced in steps of this size: a quarter of a window, a sixteenth of a small one. The sender cannot use
/// credit that is not announced yet. With a window of 280 packets, two paths reached 178 Mbit/s with quarters and reach
/// 186 with sixteenths.
[[nodiscard]] constexpr std::uint64_t credit_step(std::uint64_t window) noexcept {
    constexpr std::uint64_t kSmallWindow = 4U << 20U;
    return window / (window < kSmallWindow ? 16 : 4);
}

/// States of the receiving half of a stream (RFC 9000, section 3.2; there a stopped stream has no states of its own).
enum class RecvState : std::uint8_t {
    none,         ///< the peer cannot send on the stream
    recv,         ///< bytes may arrive, and the final size is unknown
    size_known,   ///< the final size is known, but not all bytes are here
    data_recvd,   ///< all bytes are here
    data_read,    ///< ordered: the application has read the end; unordered: it has released all bytes
    stopped,      ///< the application wants no more; the final size is unknown
    dropped,      ///< the same, and the final size is known
    reset_recvd,  ///< the peer gave up
};
inline constexpr Step<RecvState> kRecvSteps[] = {
    {RecvState::recv, RecvState::size_known},
    {RecvState::size_known, RecvState::data_recvd},
    {RecvState::data_recvd, RecvState::data_read},
    {RecvState::recv, RecvState::stopped},
    {RecvState::stopped, RecvState::dropped},
    {RecvState::size_known, RecvState::dropped},
    {RecvState::data_recvd, RecvState::dropped},
    {RecvState::recv, RecvState::reset_recvd},
    {RecvState::size_known, RecvState::reset_recvd},
    {RecvState::data_recvd, RecvState::reset_recvd},
    // A peer that does not know yet that all bytes have arrived may give them up.
    {RecvState::data_read, RecvState::reset_recvd},
    {RecvState::stopped, RecvState::reset_recvd},
    {RecvState::dropped, RecvState::reset_recvd},
};

class RecvStream {
  public:
    /// Receives each piece of an unordered stream.
    using Place = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

    RecvStream(StreamKind kind, std::uint64_t window, bool receives = true)
        : kind_(kind), state_(receives ? RecvState::recv : RecvState::none), window_(window), limit_(window) {}

    [[nodiscard]] RecvState state() const noexcept { return state_; }

    /// Most separate pieces in a stream. Loss can leave at most this many in a window: 10 Gbit/s x 200 ms are 178,000
    /// packets, half of them lost. If there are more, the peer makes the holes.
    static constexpr std::size_t kMaxPieces = 1U << 17U;

    /// Processes bytes of the peer. Returns the growth of the highest offset, which connection-level flow control
    /// counts. protocol: bytes beyond the credit, too many holes, or a contradictory final size.
    Result<std::uint64_t> on_data(std::uint64_t offset, std::span<const std::byte> data, bool fin, const Place& place);
    /// The peer reset the stream. Returns the growth of the highest offset, as on_data() does.
    Result<std::uint64_t> on_reset(std::uint64_t final_size);

    /// Ordered: copies in-order bytes and returns their number.
    std::size_t read(std::span<std::byte> out);
    /// Ordered: takes the next bytes without copying them. Empty when read() would return 0.
    Chunk take();
    /// Unordered: `bytes` that were handed over have left memory.
    void release(std::uint64_t bytes) noexcept;
    /// The application does not want the rest. Waiting and later bytes are dropped, and their credit is returned.
    void stop() noexcept;

    /// True if the peer should get a new limit: a part of the window (credit_step()) was consumed since the last one.
    [[nodiscard]] bool limit_due() const noexcept;
    /// Makes the current limit the advertised one and returns it.
    std::uint64_t advertise() noexcept;
    /// See RightSize::on_round_trip().
    void on_round_trip(double share, std::uint64_t most) noexcept {
        window_.on_round_trip(highest_, consumed_, share, most);
    }

    [[nodiscard]] StreamKind kind() const noexcept { return kind_; }
    [[nodiscard]] bool readable() const noexcept;
    [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }
    [[nodiscard]] std::uint64_t highest() const noexcept { return highest_; }
    [[nodiscard]] std::optional<std::uint64_t> final_size() const noexcept { return final_size_; }
    /// Every byte up to the final size has arrived.
    [[nodiscard]] bool complete() const noexcept {
        return state_ == RecvState::data_recvd || state_ == RecvState::data_read;
    }
    /// Bytes may come that the application wants.
    [[nodiscard]] bool wanted() const noexcept { return state_ >= RecvState::recv && state_ <= RecvState::data_read; }
    [[nodiscard]] bool stopped() const noexcept { return state_ == RecvState::stopped || state_ == RecvState::dropped; }
    [[nodiscard]] bool was_reset() const noexcept { return state_ == RecvState::reset_recvd; }
    /// Nothing is left to do.
    [[nodiscard]] bool over() const noexcept {
        return state_ == RecvState::none || state_ == RecvState::data_read || state_ >= RecvState::dropped;
    }
    [[nodiscard]] std::uint64_t received() const noexcept { return received_total_; }
    /// Bytes of memory that hold unread data.
    [[nodiscard]] std::size_t held() const noexcept { return buffer_.memory(); }

  private:
    void pass(std::size_t bytes) noexcept;
    /// Takes the steps that bytes and the final size allow.
    void advance() noexcept;
    Result<std::uint64_t> admit(std::uint64_t end, bool fin);
    /// Frees the stored bytes. Their credit is returned, so they must not stay in memory.
    void drop() noexcept;

    StreamKind kind_;
    Lifecycle<kRecvSteps> state_;
    RightSize window_;
    std::uint64_t limit_;         // advertised
    std::uint64_t consumed_ = 0;  // read or released
    std::uint64_t highest_ = 0;
    std::uint64_t received_total_ = 0;
    std::optional<std::uint64_t> final_size_;
    Reassembler buffer_;  // ordered
    RangeSet received_;   // unordered
};

}  // namespace udtx::stream

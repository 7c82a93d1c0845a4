// The sending half of a stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/containers.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/ids.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::stream {

// How many bytes a writer may have waiting for their first transmission.
//
// Bytes that do not fit into the processor's cache have to be fetched from memory again when they are sent. With too
// few bytes, the link is idle while the writer sleeps or waits for its disk. So the limit starts at the size of a
// cache. It doubles whenever the writer came too late, and is halved after a long time without that.

class WriteAhead {
  public:
    static constexpr std::uint64_t kLeast = 4U << 20U;

    explicit WriteAhead(std::uint64_t bound) noexcept : bound_(bound), most_(std::min(kLeast, bound)) {}

    [[nodiscard]] std::uint64_t most() const noexcept { return most_; }
    /// Call it when most() bytes wait.
    void on_full() noexcept { refilling_ = false; }
    /// Call it when half of them have left and the writer is notified.
    void on_room() noexcept {
        refilling_ = true;
        if (++in_time_ < kLongTime) return;
        in_time_ = 0;
        most_ = std::max(most_ / 2, std::min(kLeast, bound_));
    }
    /// Call it when no bytes wait any more.
    void on_empty() noexcept {
        if (!refilling_) return;
        refilling_ = false;
        in_time_ = 0;
        most_ = std::min(2 * most_, bound_);
    }

  private:
    static constexpr int kLongTime = 32;  // refills

    std::uint64_t bound_;
    std::uint64_t most_;
    int in_time_ = 0;
    bool refilling_ = false;  // the writer was notified, and most() bytes have not waited since
};

/// States of the sending half of a stream (RFC 9000, section 3.1).
enum class SendState : std::uint8_t {
    none,         ///< this end cannot send on the stream
    ready,        ///< the application may write ("Ready" and "Send")
    finished,     ///< the end is known, and must be sent
    data_sent,    ///< the end was sent
    end_acked,    ///< the end is acknowledged, but not all bytes before it
    data_recvd,   ///< everything is acknowledged
    reset_sent,   ///< the bytes were given up
    reset_recvd,  ///< the peer knows that
};
inline constexpr Step<SendState> kSendSteps[] = {
    {SendState::ready, SendState::finished},       {SendState::finished, SendState::data_sent},
    {SendState::data_sent, SendState::finished},  // the packet with the end was lost
    {SendState::data_sent, SendState::end_acked},  {SendState::finished, SendState::end_acked},
    {SendState::end_acked, SendState::data_recvd}, {SendState::ready, SendState::reset_sent},
    {SendState::finished, SendState::reset_sent},  {SendState::data_sent, SendState::reset_sent},
    {SendState::end_acked, SendState::reset_sent}, {SendState::reset_sent, SendState::reset_recvd},
};

// Sending half of a stream. It holds what the application wrote until it is acknowledged, and chooses what to send
// next.
//
// Order of calls: the application calls write() and finish(). Each packet needs next() -> copy() -> on_sent(). Then
// follows on_acked() or on_lost(), once for each range that was passed to on_sent().

class SendStream {
  public:
    explicit SendStream(std::uint64_t peer_limit, bool sends = true)
        : state_(sends ? SendState::ready : SendState::none), limit_(peer_limit) {}

    [[nodiscard]] SendState state() const noexcept { return state_; }
    [[nodiscard]] bool is_reset() const noexcept { return state_ >= SendState::reset_sent; }
    /// Nothing is left to do.
    [[nodiscard]] bool over() const noexcept {
        return state_ == SendState::none || state_ == SendState::data_recvd || state_ == SendState::reset_recvd;
    }

    void write(Chunk chunk);
    void finish();
    /// Stops sending and frees the memory. The final size is highest(). No effect if the half is over().
    void reset();
    void on_reset_acked();
    void raise_limit(std::uint64_t limit);

    struct Piece {
        std::uint64_t offset = 0;
        std::size_t length = 0;
        bool fin = false;
        bool again = false;        ///< the bytes were sent before
        std::uint64_t growth = 0;  ///< bytes by which highest() grows; flow control counts these

        /// Shortens the piece to at most `most` bytes.
        void cut(std::size_t most) noexcept {
            if (length <= most) return;
            growth -= std::min<std::uint64_t>(growth, length - most);
            length = most;
            fin = false;
        }
    };
    /// What to send next, at most `room` bytes of payload. Lost ranges come first. Then come the first unsent bytes at
    /// or beyond `from`, as many as raise highest() by at most `new_credit` (connection-level flow control). Does not
    /// change the state.
    [[nodiscard]] std::optional<Piece> next(std::size_t room, std::uint64_t new_credit, std::uint64_t from = 0) const;
    /// Each packet asks all streams. Most streams of a receiver cannot send.
    [[nodiscard]] bool pending(std::uint64_t new_credit) const {
        if (state_ == SendState::none || is_reset()) return false;
        if (!lost_.empty()) return true;
        if (sent_ < std::min({written_, limit_, highest() + new_credit})) return true;
        return state_ == SendState::finished && sent_ == written_;
    }
    void copy(std::uint64_t offset, std::span<std::byte> out) const;
    void on_sent(const Piece& piece);
    /// Returns true if everything is acknowledged now, and was not before.
    bool on_acked(std::uint64_t offset, std::uint64_t length, bool fin);
    void on_lost(std::uint64_t offset, std::uint64_t length, bool fin);

    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    /// All bytes below this offset were sent at least once.
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
    /// Ranges beyond sent() that were sent too, ascending: slower paths get bytes ahead of their turn.
    [[nodiscard]] std::span<const Range> sent_ahead() const noexcept { return ahead_.intervals(); }
    [[nodiscard]] std::uint64_t ahead_bytes() const noexcept { return ahead_.total(); }
    /// One past the highest byte sent.
    [[nodiscard]] std::uint64_t highest() const noexcept { return ahead_.empty() ? sent_ : ahead_.back().end; }
    /// All bytes below this offset are acknowledged.
    [[nodiscard]] std::uint64_t acked_below() const noexcept {
        return acked_.empty() || acked_.front().begin > 0 ? 0 : acked_.front().end;
    }
    [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
    /// Bytes that wait to be sent, including lost ones.
    [[nodiscard]] std::uint64_t waiting() const noexcept { return is_reset() ? 0 : unsent_bytes() + lost_.total(); }
    /// Bytes that were never sent.
    [[nodiscard]] std::uint64_t unsent_bytes() const noexcept {
        return is_reset() ? 0 : written_ - sent_ - ahead_.total();
    }
    [[nodiscard]] bool lost_waits() const noexcept { return !lost_.empty(); }
    /// The first part of [offset, offset + length) that is not acknowledged. Empty if all of it is acknowledged, or if
    /// a reset has freed the bytes.
    [[nodiscard]] Range unacked(std::uint64_t offset, std::uint64_t length) const noexcept {
        return is_reset() ? Range{offset, offset} : acked_.first_gap(offset, offset + length);
    }
    [[nodiscard]] std::uint64_t buffered() const noexcept { return written_ - acked_.total(); }
    /// Bytes of memory that hold unacknowledged data.
    [[nodiscard]] std::uint64_t held() const noexcept { return chunk_bytes_ + blocks_.size() * kBlockCost; }
    [[nodiscard]] bool end_sent() const noexcept {
        return state_ == SendState::data_sent || state_ == SendState::end_acked;
    }

  private:
    /// Memory of a block besides its bytes: its entry in the list, and the overhead of the allocator and the chunk.
    static constexpr std::uint64_t kBlockCost = 128;
    struct Block {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::uint64_t unacked = 0;  ///< the chunk is freed when this reaches 0; blocks reach it in any order
        Chunk chunk;
    };
    /// The first bytes at or beyond `from` that were never sent and that flow control allows.
    [[nodiscard]] Range unsent(std::uint64_t from, std::uint64_t new_credit) const;
    [[nodiscard]] std::size_t block_at(std::uint64_t offset) const;
    void release(std::uint64_t begin, std::uint64_t end);

    Lifecycle<kSendSteps> state_;
    std::deque<Block> blocks_;
    RangeSet acked_;
    RangeSet lost_;
    RangeSet ahead_;  // ranges sent beyond sent_
    std::uint64_t chunk_bytes_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t limit_ = 0;
};

}  // namespace udtx::stream

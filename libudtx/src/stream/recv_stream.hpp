// Receiving half of a stream: final size, credit, and the two kinds of delivery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/range_set.hpp"
#include "stream/reassembler.hpp"
#include "stream/right_size.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::stream {

/// So much credit is told at a time: a quarter of a window, a sixteenth of a small one. What waits to be told is lost
/// to the sender: with quarters of 280 packets two paths had 178 Mbit/s where they have 186 with sixteenths.
[[nodiscard]] constexpr std::uint64_t credit_step(std::uint64_t window) noexcept {
    constexpr std::uint64_t kSmallWindow = 4U << 20U;
    return window / (window < kSmallWindow ? 16 : 4);
}

class RecvStream {
  public:
    /// Hands over a piece of a placed stream.
    using Place = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

    RecvStream(StreamKind kind, std::uint64_t window) : kind_(kind), window_(window), limit_(window) {}

    /// Separate pieces that wait for what lies between them. The most that loss can leave in a window: 10 Gbit/s x 200
    /// ms are 178,000 packets, half of them lost. Beyond that it is the peer who makes holes.
    static constexpr std::size_t kMaxPieces = 1U << 17U;

    /// Bytes from the peer. protocol: beyond the credit, too many holes, or a final size that contradicts. Returns by
    /// how much the highest offset grew (what connection-level flow control counts).
    Result<std::uint64_t> on_data(std::uint64_t offset, std::span<const std::byte> data, bool fin, const Place& place);
    /// The peer gave up; returns the growth of the highest offset as on_data().
    Result<std::uint64_t> on_reset(std::uint64_t final_size);

    /// Ordered: copies in-order bytes; 0 at the end, too, which is then known to have been seen.
    std::size_t read(std::span<std::byte> out);
    /// Ordered: the next bytes, without copying them; empty as read() returns 0.
    Chunk take();
    /// Placed: bytes that were handed over have left memory.
    void release(std::uint64_t bytes) noexcept {
        if (!stopped_) consumed_ += bytes;
    }
    /// The application does not want the rest: what waits and what comes is dropped, its credit returned.
    void stop() noexcept;

    /// A new limit worth telling the peer, if a part of the window has been consumed since the last.
    [[nodiscard]] bool limit_due() const noexcept;
    /// The current limit, which becomes the advertised one.
    std::uint64_t advertise() noexcept;
    /// As RightSize::on_round_trip().
    void on_round_trip(double share, std::uint64_t most) noexcept {
        window_.on_round_trip(highest_, consumed_, share, most);
    }

    [[nodiscard]] StreamKind kind() const noexcept { return kind_; }
    [[nodiscard]] bool readable() const noexcept;
    [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }
    [[nodiscard]] std::uint64_t highest() const noexcept { return highest_; }
    [[nodiscard]] std::optional<std::uint64_t> final_size() const noexcept { return final_size_; }
    /// Every byte up to the final size has come.
    [[nodiscard]] bool complete() const noexcept;
    /// Ordered: read to the end. Placed: complete and released. Or reset; or stopped, and the size is known.
    [[nodiscard]] bool done() const noexcept;
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    [[nodiscard]] bool was_reset() const noexcept { return reset_; }
    [[nodiscard]] std::uint64_t received() const noexcept { return received_total_; }
    /// Bytes of memory for what waits to be read.
    [[nodiscard]] std::size_t held() const noexcept { return buffer_.memory(); }

  private:
    void pass(std::size_t bytes) noexcept;
    Result<std::uint64_t> admit(std::uint64_t end, bool fin);
    /// Credit is returned for it, so that it must not stay in memory.
    void drop() noexcept;

    StreamKind kind_;
    RightSize window_;
    std::uint64_t limit_;         // advertised
    std::uint64_t consumed_ = 0;  // read or released
    std::uint64_t highest_ = 0;
    std::uint64_t received_total_ = 0;
    std::optional<std::uint64_t> final_size_;
    Reassembler buffer_;  // ordered
    RangeSet placed_;     // placed
    bool end_read_ = false;
    bool stopped_ = false;
    bool reset_ = false;
};

}  // namespace udtx::stream

// Receiving half of a stream: final size, flow-control credit, and ordered or placed delivery.
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

/// Credit is announced in steps of this size: a quarter of a window, a sixteenth of a small one. The sender cannot use
/// credit that is not announced yet. With a window of 280 packets, two paths reached 178 Mbit/s with quarters and reach
/// 186 with sixteenths.
[[nodiscard]] constexpr std::uint64_t credit_step(std::uint64_t window) noexcept {
    constexpr std::uint64_t kSmallWindow = 4U << 20U;
    return window / (window < kSmallWindow ? 16 : 4);
}

class RecvStream {
  public:
    /// Receives each piece of a placed stream.
    using Place = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

    RecvStream(StreamKind kind, std::uint64_t window) : kind_(kind), window_(window), limit_(window) {}

    /// Most separate pieces in a stream. Loss can leave at most this many in a window: 10 Gbit/s x 200 ms are 178,000
    /// packets, half of them lost. If there are more, the peer makes the holes.
    static constexpr std::size_t kMaxPieces = 1U << 17U;

    /// Processes bytes of the peer. Returns the growth of the highest offset, which connection-level flow control
    /// counts. protocol: bytes beyond the credit, too many holes, or a contradictory final size.
    Result<std::uint64_t> on_data(std::uint64_t offset, std::span<const std::byte> data, bool fin, const Place& place);
    /// The peer reset the stream. Returns the growth of the highest offset, as on_data() does.
    Result<std::uint64_t> on_reset(std::uint64_t final_size);

    /// Ordered: copies in-order bytes and returns their number. At the end it returns 0 and notes that the end was
    /// read.
    std::size_t read(std::span<std::byte> out);
    /// Ordered: takes the next bytes without copying them. Empty when read() would return 0.
    Chunk take();
    /// Placed: `bytes` that were handed over have left memory.
    void release(std::uint64_t bytes) noexcept {
        if (!stopped_) consumed_ += bytes;
    }
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
    [[nodiscard]] bool complete() const noexcept;
    /// Ordered: the stream was read to the end. Placed: it is complete and released. Also true after a reset, and for a
    /// stopped stream once its final size is known.
    [[nodiscard]] bool done() const noexcept;
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    [[nodiscard]] bool was_reset() const noexcept { return reset_; }
    [[nodiscard]] std::uint64_t received() const noexcept { return received_total_; }
    /// Bytes of memory that hold unread data.
    [[nodiscard]] std::size_t held() const noexcept { return buffer_.memory(); }

  private:
    void pass(std::size_t bytes) noexcept;
    Result<std::uint64_t> admit(std::uint64_t end, bool fin);
    /// Frees the stored bytes. Their credit is returned, so they must not stay in memory.
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

// Datagrams on a byte stream, for networks that do not let UDP pass. Layout: docs/inside/wire-format.md, section 7.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "os/byte_stream.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"

namespace udtx::io {

/// One thread makes all calls.
class StreamCarrier {
  public:
    /// Queued bytes from which on the stream counts as full. The congestion control of the stream delays what is
    /// queued, so more would only delay what is urgent.
    static constexpr std::size_t kFull = 128U << 10U;
    static constexpr std::size_t kMaxDatagram = 65'000;

    /// False: the datagram stays in the stream, and nothing more is passed on.
    using Handler = std::function<bool(std::span<std::byte> datagram)>;

    /// `received`: bytes of the stream that somebody has read already. `local` and `remote` name its ends.
    StreamCarrier(std::unique_ptr<os::ByteStream> stream, const Address& local, const Address& remote,
                  std::span<const std::byte> received = {});

    [[nodiscard]] const Address& local() const noexcept { return local_; }
    [[nodiscard]] const Address& remote() const noexcept { return remote_; }

    /// Queues datagrams of `segment` bytes each, the last one possibly shorter, also if the stream is full.
    void send(std::span<const std::byte> batch, std::size_t segment);
    /// Writes what is queued, as far as the stream takes it.
    void flush();
    [[nodiscard]] bool full() const noexcept { return queued() >= kFull; }
    [[nodiscard]] std::size_t queued() const noexcept { return out_.size() - out_at_; }

    /// Reads what has arrived. True: there may be more.
    bool receive(const Handler& handler);
    /// Ends it from this side. What is queued is lost.
    void close() { end({}); }
    /// Why it has ended; nullopt: it has not. Empty: the peer closed it.
    [[nodiscard]] const std::optional<std::string>& over() const noexcept { return over_; }
    /// True if it has ended; any thread.
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    [[nodiscard]] bool open() const { return stream_->open(); }
    void watch(std::vector<os::Watch>& watches) const { stream_->watch(queued() > 0, watches); }

  private:
    void end(std::string why);
    /// Passes on what is complete. False: the handler left a datagram.
    bool take(const Handler& handler);
    void append(std::size_t size);

    std::unique_ptr<os::ByteStream> stream_;
    Address local_;
    Address remote_;
    std::vector<std::byte> out_;  // from out_at_ on: queued
    std::size_t out_at_ = 0;
    std::vector<std::byte> in_;  // from in_at_ to in_end_: not yet passed on
    std::size_t in_at_ = 0;
    std::size_t in_end_ = 0;
    std::optional<std::string> over_;
    std::atomic<bool> ended_{false};
};

}  // namespace udtx::io

namespace udtx {

struct ChannelAccess {
    [[nodiscard]] static const std::shared_ptr<io::StreamCarrier>& carrier(const Channel& channel) {
        return channel.carrier_;
    }
};

}  // namespace udtx

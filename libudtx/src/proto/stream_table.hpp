// All streams of a connection with both levels of flow control. It handles frames; time and loss detection are
// elsewhere.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/containers.hpp"
#include "proto/transport_parameters.hpp"
#include "recovery/loss_recovery.hpp"
#include "stream/recv_stream.hpp"
#include "stream/send_stream.hpp"
#include "udtx/config.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/scheduler.hpp"
#include "wire/frame.hpp"

namespace udtx::proto {

struct StreamCounters {
    std::uint64_t bytes_sent = 0;  ///< payload, first transmissions
    std::uint64_t bytes_resent = 0;
    std::uint64_t bytes_received = 0;  ///< payload, each byte once
};

/// Order of calls: set_peer_limits() once, before any frame is filled; then any call.
class StreamTable {
  public:
    StreamTable(Role role, const TransportConfig& config, std::deque<Event>& events);

    // --- application
    Result<StreamId> open(StreamKind kind);
    /// Bytes that a writer may have in a stream. Both limits are at most TransportConfig::send_buffer, or its grown
    /// size.
    struct Room {
        std::uint64_t ahead = 0;  ///< bytes that may wait for their first transmission, if more than WriteAhead allows
        std::uint64_t unacked = UINT64_MAX;  ///< those bytes and the unacknowledged ones together
    };
    /// Bytes that may be written now. After 0, Writable reports when there is room.
    [[nodiscard]] std::uint64_t capacity(StreamId id, const Room& room);
    /// Bytes of memory for data that nobody has read, and for data that the peer has not acknowledged.
    [[nodiscard]] std::uint64_t held_bytes() const;
    Result<void> write(StreamId id, Chunk chunk);
    Result<void> finish(StreamId id);
    [[nodiscard]] ReadResult read(StreamId id, std::span<std::byte> out);
    [[nodiscard]] ReadChunk read_chunk(StreamId id);
    void set_sink(PieceSink* sink);
    void release(StreamId id, std::uint64_t bytes);
    void reset(StreamId id, std::uint64_t code);
    void stop(StreamId id, std::uint64_t code);
    /// Nothing more is sent or read. Frees the bytes that wait for either.
    void drop_bytes();
    /// Windows and send buffers follow the rate of the path (stream::RightSize). `share`: the part of the time since
    /// the last call that one round trip takes. `most`: bytes by which all together may have grown. Returns by how many
    /// they have.
    std::uint64_t on_round_trip(double share, std::uint64_t most);

    // --- frames from the peer
    void set_peer_limits(const TransportParameters& peer);
    Result<void> on_stream(const wire::StreamFrame& frame);
    Result<void> on_reset(const wire::ResetStreamFrame& frame);
    Result<void> on_stop(const wire::StopSendingFrame& frame);
    Result<void> on_max_stream_data(const wire::MaxStreamDataFrame& frame);
    void on_max_data(std::uint64_t limit);
    void on_max_streams(std::uint64_t limit);

    // --- frames to the peer
    /// A frame waits that counts against the congestion window (stream bytes, limits, resets).
    [[nodiscard]] bool pending() const;
    /// Stream payload waits, and flow control allows to send it.
    [[nodiscard]] bool data_pending() const;
    /// Stream payload waits for the peer's flow control. Call it only while data_pending() is false.
    [[nodiscard]] bool waits_for_credit() const;
    /// A frame other than stream payload waits.
    [[nodiscard]] bool control_pending() const;
    void fill(wire::Writer& out, recovery::SentPacket& packet) {
        fill_control(out, packet);
        fill_data(out, packet);
    }
    /// Writes credit and resets into `out` and notes them in `packet`.
    void fill_control(wire::Writer& out, recovery::SentPacket& packet);
    /// Writes stream bytes into `out` and notes them in `packet`. The next stream takes unsent bytes at or beyond
    /// `from`.
    void fill_data(wire::Writer& out, recovery::SentPacket& packet, std::uint64_t from = 0);
    /// The bytes that fill_data() would start with, as a path scheduler sees them. nullopt if no bytes wait (the end of
    /// a stream may).
    [[nodiscard]] std::optional<StreamDemand> demand() const;
    /// Demand of one stream, whatever waits. Call it only if sends() is true for that stream.
    [[nodiscard]] StreamDemand demand(StreamId id) const;
    [[nodiscard]] bool sends(StreamId id) const;
    [[nodiscard]] std::uint64_t acked_below(StreamId id) const;
    /// Writes bytes again that are in flight. Those below the returned offset are in the packet or arrived before.
    std::uint64_t fill_copy(const recovery::SentRange& range, wire::Writer& out, recovery::SentPacket& packet);
    void on_acked(const recovery::SentPacket& packet);
    void on_lost(const recovery::SentPacket& packet);

    [[nodiscard]] const StreamCounters& counters() const noexcept { return counters_; }
    /// Bytes sent, except those that are acknowledged together with all before them; over all streams.
    [[nodiscard]] std::uint64_t outstanding() const noexcept;
    /// All these bytes are acknowledged, or need not be any more.
    [[nodiscard]] bool arrived(StreamId id, Range range) const;
    /// Bytes that flow control still allows to send.
    [[nodiscard]] std::uint64_t free_window() const noexcept { return new_credit(); }

  private:
    struct Stream {
        StreamId id;
        stream::SendStream send;
        stream::RecvStream recv;
        bool readable_told = false;
        recovery::Control due = recovery::Control::none;  ///< frames to send: reset, stop, a limit that was lost
        std::uint64_t reset_code = 0;
        std::uint64_t stop_code = 0;
        stream::WriteAhead write_ahead;
        stream::RightSize send_buffer;
        std::uint64_t buffer = 0;                     ///< bound for the writer's unacknowledged bytes
        std::optional<std::uint64_t> writer_waits{};  ///< until at most this many bytes wait to be sent
    };

    Stream& insert(StreamId id);
    Stream* find(StreamId id);
    /// The stream of a frame. It is made if the peer opens it with this frame. Null if it is closed and forgotten.
    Result<Stream*> admit(StreamId id, bool peer_sends);
    /// Notes that the peer's highest offsets grew. protocol: beyond the connection's credit.
    Result<void> count_received(std::uint64_t growth);
    void tell_readable(Stream& s);
    void tell_writable(Stream& s);
    void place(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes);
    /// `take(RecvStream&)` reads from the stream. Returns true at its end.
    template <class Take>
    bool read_by(StreamId id, Take take);
    void retire_if_done(StreamId id);
    [[nodiscard]] static bool limit_due(const Stream& s);
    [[nodiscard]] static bool control_pending(const Stream& s);
    [[nodiscard]] std::uint64_t new_credit() const noexcept { return peer_max_data_ - sent_new_; }
    void fill_limits(wire::Writer& out, recovery::SentPacket& packet);
    void fill_stream_control(Stream& s, wire::Writer& out, recovery::SentPacket& packet);
    /// What a path scheduler has to know of the stream.
    [[nodiscard]] StreamDemand describe(const Stream& s) const;
    [[nodiscard]] std::size_t place_after_turn(std::size_t i) const noexcept;
    /// The stream whose bytes are next.
    [[nodiscard]] const Stream* next_to_send() const;
    [[nodiscard]] bool limits_pending() const;
    bool fill_one(Stream& s, wire::Writer& out, recovery::SentPacket& packet, std::uint64_t from);

    Role role_;
    const TransportConfig& config_;
    std::deque<Event>& events_;
    PieceSink* sink_ = nullptr;
    /// Pieces that came before the application set its sink. In total they take at most a connection window of memory.
    struct EarlyPiece {
        StreamId id;
        std::uint64_t offset = 0;
        std::vector<std::byte> bytes;
    };
    std::vector<EarlyPiece> early_;
    std::uint64_t early_held_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Stream>> streams_;
    std::vector<Stream*> order_;  // round robin; ordered streams are served before unordered ones
    std::size_t turn_ = 0;

    std::uint64_t next_index_ = 0;
    std::uint64_t peer_max_streams_ = 0;
    std::uint64_t peer_stream_window_ = 0;
    std::uint64_t peer_max_data_ = 0;
    std::uint64_t sent_new_ = 0;

    RangeSet peer_opened_;  // indices
    std::uint64_t peer_closed_ = 0;
    std::uint64_t max_streams_;  // advertised
    bool max_streams_due_ = false;
    stream::RightSize window_;  // of the connection
    std::uint64_t max_data_;    // advertised
    std::uint64_t received_highest_ = 0;
    std::uint64_t consumed_ = 0;
    bool max_data_lost_ = false;
    StreamCounters counters_;
};

}  // namespace udtx::proto

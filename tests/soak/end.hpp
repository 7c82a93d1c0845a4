// The application at one end of a connection: starts its tasks, writes, reads and checks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol_host.hpp"
#include "soak/work.hpp"

namespace udtx::soak {

class End final : public sim::App {
  public:
    /// `client`: the id that the client has chosen. The end that connects learns it later.
    End(Work& work, Role role, std::optional<ConnectionId> client) : work_(work), role_(role), client_(client) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;
    void on_tick(Instant now, proto::Connection& connection) override;

    /// Ends the streams that are being written, at their present length.
    void wind_down(Instant now, proto::Connection& connection);
    /// The peer is gone: this end starts no further tasks.
    void retire() noexcept { retired_ = true; }
    [[nodiscard]] std::uint64_t most_held() const noexcept { return most_held_; }

  private:
    struct Stream {
        StreamId id;
        AttemptPtr attempt;
    };
    void begin_due(Instant now, proto::Connection& connection);
    void fill(Instant now, proto::Connection& connection, Stream& stream);
    void write_on(Instant now, proto::Connection& connection);
    void read(Instant now, proto::Connection& connection, Stream& stream, std::uint64_t at_most);
    void end_answer(proto::Connection& connection, StreamId id);
    void drain_answer(proto::Connection& connection, StreamId id);
    void read_slowly(Instant now, proto::Connection& connection);
    void stop_if_due(Instant now, proto::Connection& connection, const Stream& stream);
    Stream* ours(StreamId id);
    Stream* theirs(StreamId id);
    void forget_done();
    void schedule(Instant now);

    Work& work_;
    Role role_;
    std::optional<ConnectionId> client_;
    std::vector<Stream> sends_;
    std::vector<Stream> receives_;
    std::vector<StreamId> touched_;  // unordered streams with bytes to be released
    std::vector<std::byte> scratch_;
    bool retired_ = false;
    std::uint64_t held_ = 0;
    std::uint64_t most_held_ = 0;
    std::optional<Instant> wake_;
    std::optional<Instant> next_begin_;  // start of the next task
    std::optional<Instant> next_write_;  // earliest write of a stream that pauses
    std::optional<Instant> next_read_;   // earliest read of a slow reader
};

}  // namespace udtx::soak

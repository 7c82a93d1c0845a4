// Applications for scenarios: bulk sender, bulk receiver, ping-pong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/pattern.hpp"
#include "sim/protocol_host.hpp"

namespace udtx::sim {

/// Sends `bytes` of the pattern on one stream, starting when the connection is up.
class Sender final : public App {
  public:
    struct Options {
        std::uint64_t bytes = 0;
        StreamKind kind = StreamKind::unordered;
        bool close_when_delivered = true;
        std::size_t chunk = pattern::kMaxChunk;
        Duration late{};                   ///< from Writable to the next write: a disk that takes its time
        std::optional<KnownPath> known{};  ///< recalled once connected
    };
    explicit Sender(Options options) : options_(options) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;

    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
    [[nodiscard]] std::optional<Instant> delivered_at() const noexcept { return delivered_at_; }
    [[nodiscard]] StreamId stream() const noexcept { return stream_; }

  private:
    void fill(proto::Connection& connection);

    Options options_;
    StreamId stream_;
    std::uint64_t written_ = 0;
    bool finished_ = false;
    std::optional<Instant> delivered_at_;
};

/// Checks every byte of one stream against the pattern, and that each byte arrives once.
class Receiver final : public App {
  public:
    struct Options {
        std::uint64_t bytes_per_second = 0;  ///< speed of the reader; 0: at once
        Duration read_every = std::chrono::milliseconds(10);
    };
    Receiver() = default;
    explicit Receiver(Options options) : options_(options) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;
    void on_tick(Instant now, proto::Connection& connection) override;

    [[nodiscard]] std::uint64_t received() const noexcept { return ledger_.total(); }
    [[nodiscard]] bool intact() const noexcept { return wrong_ == 0 && repeated_ == 0; }
    [[nodiscard]] std::uint64_t wrong_pieces() const noexcept { return wrong_; }
    [[nodiscard]] std::uint64_t repeated_pieces() const noexcept { return repeated_; }
    [[nodiscard]] std::optional<Instant> complete_at() const noexcept { return complete_at_; }
    [[nodiscard]] bool complete(std::uint64_t bytes) const noexcept {
        return complete_at_.has_value() && intact() && ledger_.complete(bytes);
    }
    /// Maximum of the bytes that were handed over and not yet released.
    [[nodiscard]] std::uint64_t most_held() const noexcept { return most_held_; }
    /// Total of the bytes received up to each second of virtual time, for the seconds in which bytes arrived.
    [[nodiscard]] const std::map<std::int64_t, std::uint64_t>& by_second() const noexcept { return by_second_; }
    [[nodiscard]] Instant last_progress() const noexcept { return last_progress_; }

  private:
    void take(std::uint64_t offset, std::span<const std::byte> bytes);
    void read_ordered(Instant now, proto::Connection& connection, std::uint64_t at_most);
    void release(proto::Connection& connection, std::uint64_t at_most);
    [[nodiscard]] std::uint64_t budget() const noexcept;
    void wake_later(Instant now);

    Options options_{};
    std::optional<StreamId> stream_;
    pattern::Ledger ledger_;
    std::vector<std::byte> scratch_;
    std::uint64_t ordered_offset_ = 0;
    std::uint64_t held_ = 0;
    std::uint64_t most_held_ = 0;
    std::uint64_t wrong_ = 0;
    std::uint64_t repeated_ = 0;
    bool readable_ = false;
    bool wake_set_ = false;
    std::uint64_t tick_bytes_ = 0;
    Instant last_progress_{};
    std::map<std::int64_t, std::uint64_t> by_second_;
    std::optional<Instant> complete_at_;
};

/// Sends 64 bytes, waits for their echo and repeats this `rounds` times, with a pause between rounds.
class Ping final : public App {
  public:
    Ping(unsigned rounds, Duration pause) : rounds_(rounds), pause_(pause) {}
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    [[nodiscard]] unsigned answered() const noexcept { return answered_; }
    [[nodiscard]] Duration longest() const noexcept { return longest_; }

  private:
    void send(Instant now, proto::Connection& connection);
    unsigned rounds_;
    Duration pause_;
    unsigned answered_ = 0;
    std::size_t awaited_ = 0;
    StreamId stream_;
    Instant sent_{};
    Duration longest_{};
};

/// Returns the received bytes on ordered streams.
class Echo final : public App {
  public:
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
};

}  // namespace udtx::sim

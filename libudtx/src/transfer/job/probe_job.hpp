// Fills the path for some seconds with bytes that the receiver drops. It measures what the path can do, without a file.
#pragma once

#include <atomic>
#include <optional>

#include "transfer/job/job.hpp"
#include "udtx/ids.hpp"

namespace udtx::transfer {

/// Job gives the order of calls. Also call tick() from time to time, on any thread.
class ProbeJob final : public Job {
  public:
    /// Ends `time` after the handshake, or after some round trips if these take longer.
    ProbeJob(Duration time, DoneCallback done);

    void tick() { waker_.wake(); }
    /// Time from the first packet to the finished handshake; any thread.
    [[nodiscard]] std::optional<Duration> handshake_time() const;

    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    void start(Instant now, proto::Connection& connection);
    void fill(proto::Connection& connection);
    void end(Result<void> status);

    Duration time_;
    DoneCallback done_;
    std::optional<StreamId> data_;
    Chunk block_;
    Instant connected_at_{};
    std::uint64_t written_ = 0;
    bool ended_ = false;
    std::atomic<std::int64_t> handshake_ns_{-1};
};

}  // namespace udtx::transfer

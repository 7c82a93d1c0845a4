// A server's end of a connection. The first message says whether the other side pushes (OFFER) or pulls (PULL), and the
// job becomes a ReceiveJob or a SendJob.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/file_io.hpp"
#include "transfer/job/incoming.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/message/message_codec.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/rate.hpp"

namespace udtx::transfer {

/// The server's owner decides on each request, on the protocol thread. Error refused: it is not allowed.
struct ServeOptions {
    std::function<Result<LandingOptions>()> push;
    std::function<Result<ConfinedSources>(const PullWish&)> pull;
    FileCallback on_file{};        ///< gets the end of each file; any thread
    Rate cap = Rate::infinite();   ///< of this connection, in both directions
    Rate told = Rate::infinite();  ///< the rate that the handshake told a sender
};

class ServedJob final : public Job {
  public:
    ServedJob(ServeOptions options, DoneCallback done) : options_(std::move(options)), done_(std::move(done)) {}
    ~ServedJob() override;

    // --- any thread
    [[nodiscard]] Progress progress() const override;
    [[nodiscard]] Outcome result() const override;
    /// The job that it became; both null: not known yet, or the request failed.
    [[nodiscard]] const ReceiveJob* receiver() const noexcept { return receiver_; }
    [[nodiscard]] const SendJob* sender() const noexcept { return sender_; }
    /// For a job that is done: the destructor waits for no disk.
    [[nodiscard]] bool at_rest() const noexcept;
    /// Memory that the other side makes us hold, without the connection's own.
    [[nodiscard]] std::uint64_t held() const;
    /// Bytes of the request that have been read so far, until the job was chosen.
    [[nodiscard]] std::uint64_t heard() const noexcept { return heard_; }
    /// True if the other side asked for something, granted or not.
    [[nodiscard]] bool fetches() const noexcept { return fetches_; }
    /// True if the request is not allowed: result() says why.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

    // --- protocol thread
    /// Sets the rate from now on, in both directions.
    void set_cap(Instant now, proto::Connection& connection, Rate cap);
    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    [[nodiscard]] Job* chosen() const noexcept;
    /// Reads until the other side's request is known.
    void read_control(Instant now, proto::Connection& connection);
    /// True: the job has been chosen, or has ended.
    bool decide(Instant now, proto::Connection& connection);
    void become_receiver(Instant now, proto::Connection& connection);
    void become_sender(Instant now, proto::Connection& connection);
    /// Replays the events that the chosen job has missed.
    void hand_over(Instant now, proto::Connection& connection, Job& job);
    void end(Instant now, proto::Connection& connection, const Error& error);
    void settle(const Error& error);

    ServeOptions options_;
    DoneCallback done_;
    std::optional<StreamId> control_;
    MessageReader incoming_;
    PullRequest request_;
    std::vector<proto::Event> missed_;
    std::optional<StreamId> early_stream_;
    EarlyData early_;  // a sender starts before it gets an answer, and its first messages may be lost
    JobLife life_;
    std::atomic<bool> refused_{false};
    std::atomic<bool> fetches_{false};
    std::atomic<std::uint64_t> heard_{0};
    std::atomic<std::uint64_t> waiting_{0};  // bytes of a request, and of data that arrived before its end
    std::atomic<ReceiveJob*> receiver_{nullptr};
    std::atomic<SendJob*> sender_{nullptr};
    std::unique_ptr<DescriptorClaim> claim_;
    std::unique_ptr<Job> job_;
};

}  // namespace udtx::transfer

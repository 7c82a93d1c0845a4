// A server's end of a connection: the first message says whether the other side brings something (OFFER) or fetches it
// (PULL), and the job becomes a ReceiveJob or a SendJob.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/file_io.hpp"
#include "transfer/job/job.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/message/message_reader.hpp"
#include "transfer/pieces/early_data.hpp"
#include "udtx/core/event.hpp"
#include "udtx/rate.hpp"

namespace udtx::transfer {

/// The owner's word on what is asked for; protocol thread. Error refused: it is not allowed.
struct ServeOptions {
    std::function<Result<ReceiveJobOptions>()> push;
    std::function<Result<ConfinedSources>(const PullWish&)> pull;
    Rate cap = Rate::infinite();   ///< of this connection, in either direction
    Rate told = Rate::infinite();  ///< what the handshake said to a sender
};

class ServedJob final : public Job {
  public:
    ServedJob(ServeOptions options, DoneCallback done) : options_(std::move(options)), done_(std::move(done)) {}
    ~ServedJob() override;

    // --- any thread
    [[nodiscard]] Progress progress() const override;
    [[nodiscard]] Outcome result() const override;
    /// What it has become; both null: nobody knows yet, or it never came to anything.
    [[nodiscard]] const ReceiveJob* receiver() const noexcept { return receiver_; }
    [[nodiscard]] const SendJob* sender() const noexcept { return sender_; }
    /// When it is done: its end waits for no disk.
    [[nodiscard]] bool at_rest() const noexcept;
    /// Memory that the other side made us hold, but for what the connection holds.
    [[nodiscard]] std::uint64_t held() const;
    /// Bytes of what the other side wants, as far as they came before it was known.
    [[nodiscard]] std::uint64_t heard() const noexcept { return heard_; }
    /// The other side asked for something, granted or not.
    [[nodiscard]] bool fetches() const noexcept { return fetches_; }
    /// What was asked for is not allowed: result() says why.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

    // --- protocol thread
    /// From now on, in either direction.
    void set_cap(Instant now, proto::Connection& connection, Rate cap);
    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) override;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    [[nodiscard]] Job* chosen() const noexcept;
    /// As far as it takes to know what the other side wants.
    void read_control(Instant now, proto::Connection& connection);
    /// True: the job has been chosen, or has ended.
    bool decide(Instant now, proto::Connection& connection);
    void become_receiver(Instant now, proto::Connection& connection);
    void become_sender(Instant now, proto::Connection& connection);
    /// The events that it has missed.
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
    EarlyData early_;  // a sender begins before it was answered, and its first words may be lost
    bool ended_ = false;
    std::atomic<bool> refused_{false};
    std::atomic<bool> fetches_{false};
    std::atomic<std::uint64_t> heard_{0};
    std::atomic<std::uint64_t> waiting_{0};  // bytes of a request, and of what came before its end
    std::atomic<ReceiveJob*> receiver_{nullptr};
    std::atomic<SendJob*> sender_{nullptr};
    std::unique_ptr<DescriptorClaim> claim_;
    std::unique_ptr<Job> job_;
};

}  // namespace udtx::transfer

// What a program's transfer and a server's connection have in common: who watches the job, and how it is made to end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

#include "base/thread_safety.hpp"
#include "proto/application.hpp"
#include "transfer/close_codes.hpp"
#include "transfer/job/job.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

/// Measures how long a transfer has made no progress.
class StallWatch {
  public:
    [[nodiscard]] Duration idle(Instant now, const Progress& progress) {
        // The transport accepts data for a while after the path has failed, so bytes_sent counts only until bytes are
        // delivered.
        const std::uint64_t sent = progress.bytes_done > 0 ? 0 : progress.bytes_sent;
        const Mark mark(progress.phase, progress.files_done, progress.files_total, progress.bytes_done, sent,
                        progress.bytes_kept, progress.steps);
        if (last_ != mark) {
            last_ = mark;
            since_ = now;
        }
        return now - since_;
    }

  private:
    using Mark =
        std::tuple<Phase, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
    std::optional<Mark> last_;
    Instant since_{};
};

/// Why and when a job is made to end. A job that does not end in good order in time is asked again, and then closes.
class JobWatch {
  public:
    JobWatch() = default;
    JobWatch(const JobWatch&) = delete;
    JobWatch& operator=(const JobWatch&) = delete;

    // --- any thread
    [[nodiscard]] bool job_over() const noexcept { return over_at_->load() != Instant{}; }
    [[nodiscard]] Duration elapsed() const { return (job_over() ? over_at_->load() : monotonic_now()) - start_; }
    [[nodiscard]] Duration idle() const noexcept { return idle_; }
    [[nodiscard]] std::optional<Error> cancelled() const {
        const Lock lock(mutex_);
        return cancelled_;
    }

  protected:
    ~JobWatch() = default;
    /// Asks the job to end; the second call makes it close.
    virtual void ask_to_end(const Error& why) = 0;
    /// Asks a running job to end if there is a `reason`, and one that is asked again after `within`.
    void press(Instant now, const std::optional<Error>& reason, Duration within);

    Instant start_ = monotonic_now();
    /// Shared with the job's DoneCallback: a thread of the job must not become the last owner of this object.
    const std::shared_ptr<std::atomic<Instant>> over_at_ = std::make_shared<std::atomic<Instant>>(Instant{});
    std::atomic<Duration> idle_{};
    StallWatch stall_;

    mutable Mutex mutex_;
    JobLife life_ GUARDED_BY(mutex_);
    std::optional<Error> cancelled_ GUARDED_BY(mutex_);  // why
    Instant cancelled_at_ GUARDED_BY(mutex_){};
    Result<void> receipt_status_ GUARDED_BY(mutex_);
};

/// A thread that watches a transfer or a server, several times a second.
class TurnThread {
  public:
    TurnThread() = default;
    ~TurnThread() { stop(); }
    TurnThread(const TurnThread&) = delete;
    TurnThread& operator=(const TurnThread&) = delete;

    /// Calls `turn` every 100 ms and after each wake(), until it returns false. Throws std::system_error if the process
    /// cannot create a thread. After stop() it may be called again.
    void start(std::function<bool()> turn);
    /// Any thread.
    void wake() noexcept;
    /// Waits for the turn that is running; do not call it from within one.
    void stop() noexcept;

  private:
    Mutex mutex_;
    Condition changed_;
    bool woken_ GUARDED_BY(mutex_) = false;
    bool stopped_ GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

/// Tells a peer that was not accepted why, and ends its connection.
class TurnedAway final : public proto::ConnectionHandler {
  public:
    explicit TurnedAway(Error why) : why_(std::move(why)) {}

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Closed>(event) || std::exchange(told_, true)) return;
        // Refuses like an endpoint that is full: the request itself was not the problem.
        if (why_.code == ErrorCode::no_resources) return connection.refuse(now, why_.message);
        connection.close(now, static_cast<std::uint64_t>(close_code_for(why_.code)), why_.message);
    }
    void on_wake(Instant /*now*/, proto::Connection& /*connection*/) override {}
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  private:
    Error why_;
    bool told_ = false;
};

}  // namespace udtx::transfer

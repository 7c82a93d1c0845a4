// The common part of all jobs: their life, their pace, their load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "os/system.hpp"
#include "proto/application.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

// Interval between messages that nobody waits for.

/// An end that works without other news says so.
inline constexpr Duration kStepInterval = std::chrono::seconds(1);

/// On a narrow return path each packet takes long, and acknowledgements need that path.
inline Duration report_pace(const proto::Connection& connection, Duration least) {
    constexpr int kRoundTripsApart = 8;
    constexpr Duration kLongestApart = std::chrono::seconds(5);
    const ConnectionStats stats = connection.stats();
    if (stats.paths.empty()) return least;
    return std::clamp(kRoundTripsApart * stats.paths.front().smoothed_rtt, least, kLongestApart);
}

// Load of the receiver's disk task and protocol thread between two looks.

/// Measures the thread that calls look().
class LoadMeter {
  public:
    /// `worked`: how long the disk task has worked so far. nullopt: the first look.
    [[nodiscard]] std::optional<message::Load> look(Instant now, Duration worked) {
        if (!thread_time_) thread_time_.emplace();
        const Mark mark{now, worked, thread_time_->needed()};
        const auto before = std::exchange(mark_, mark);
        if (!before) return std::nullopt;
        const Duration time = now - before->at;
        return message::Load{thousandths(mark.worked - before->worked, time),
                             thousandths(mark.needed - before->needed, time)};
    }

  private:
    struct Mark {
        Instant at;
        Duration worked{};
        Duration needed{};
    };
    [[nodiscard]] static std::uint64_t thousandths(Duration part, Duration whole) {
        return static_cast<std::uint64_t>(std::clamp(to_seconds(part) / to_seconds(whole), 0.0, 1.0) * 1000.0);
    }

    std::optional<ThreadTime> thread_time_;
    std::optional<Mark> mark_;
};

// The common part of a sending and a receiving job.

/// Called once, when result() is final, on the protocol thread or on a disk thread. It must not destroy the job.
using DoneCallback = std::function<void()>;

/// The life of a job, and of the transfer around it.
enum class JobStage : std::uint8_t {
    opening,     ///< this end does not know its peer, or what the peer wants
    running,     ///< data flows
    confirming,  ///< all is sent: the sender waits for the confirmation, or the receiver has sent it
    stopping,    ///< asked to end in good order: the receiver tidies up and reports what it has
    closing,     ///< it waits for nobody: it was asked a second time, or the sender knows what the receiver has
    ended,       ///< the connection is over, or is not needed any more
};
inline constexpr Step<JobStage> kJobSteps[] = {
    {JobStage::opening, JobStage::running},     {JobStage::opening, JobStage::stopping},
    {JobStage::opening, JobStage::closing},     {JobStage::opening, JobStage::ended},
    {JobStage::running, JobStage::confirming},  {JobStage::running, JobStage::stopping},
    {JobStage::running, JobStage::closing},     {JobStage::running, JobStage::ended},
    {JobStage::confirming, JobStage::stopping}, {JobStage::confirming, JobStage::closing},
    {JobStage::confirming, JobStage::ended},    {JobStage::stopping, JobStage::closing},
    {JobStage::stopping, JobStage::ended},      {JobStage::closing, JobStage::ended},
};

class JobLife : public Lifecycle<kJobSteps> {
  public:
    JobLife() noexcept : Lifecycle(JobStage::opening) {}
    /// True before it was asked to end.
    [[nodiscard]] bool goes_on() const noexcept { return *this < JobStage::stopping; }
};

/// `path` as an eraser reports it: a directory's ends with `/`.
[[nodiscard]] inline PlannedEntry erased_entry(std::string path) {
    const bool directory = path.ends_with('/');
    if (directory) path.pop_back();
    return {.kind = PlannedEntry::Kind::erase,
            .type = directory ? EntryType::directory : EntryType::file,
            .path = std::move(path)};
}

/// Order of calls: create() of the derived class, set_waker() (before or during the first event), then the
/// ConnectionHandler calls on the protocol thread. The destructor stops and joins the disk work.
class Job : public proto::ConnectionHandler {
  public:
    Job() = default;
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// Any thread.
    void set_waker(proto::Waker waker) { waker_.set(std::move(waker)); }
    /// Any thread.
    [[nodiscard]] virtual Progress progress() const { return report_.progress(); }
    /// Any thread. It is final after the DoneCallback; before that it holds what is known so far.
    [[nodiscard]] virtual Outcome result() const { return report_.outcome(); }
    /// Protocol thread. The first call ends the transfer in good order. The receiver commits complete files, removes
    /// the rest and reports what it has; then the sender closes the connection. A second call closes it at once.
    virtual void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) = 0;
    /// A sending job gets no data.
    void on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {}

  protected:
    LateWaker waker_;
    JobReport report_;
};

}  // namespace udtx::transfer

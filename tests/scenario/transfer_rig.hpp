// SendJob and ReceiveJob in the simulator: the network is virtual, the disk threads are real.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "sim/scenario.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/job/receive_job.hpp"
#include "transfer/job/send_job.hpp"

namespace udtx::sim {

/// 200 Mbit/s, a round trip of 10 ms.
inline LinkParams line(double loss) {
    LinkParams out;
    out.bits_per_second = 200'000'000;
    out.delay = std::chrono::milliseconds(5);
    out.loss = loss;
    return out;
}

/// Waits until the disk threads have nothing to do. A thread that waits in a call of the system keeps it at most 10 s.
inline void await_disk() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const auto idle = [&pools = transfer::disk_pools()] { return pools.work.idle() && pools.sync.idle(); };
    while (!idle() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

/// Runs a job on a simulated host. Disk work takes real time and no virtual time: each wait for its results begins with
/// await_disk().
template <class Job>
class JobApp final : public App {
  public:
    explicit JobApp(std::unique_ptr<Job> job) : job_(std::move(job)) {
        job_->set_waker([flag = woken_] { flag->store(true); });
    }
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override {
        if (std::holds_alternative<proto::event::Closed>(event)) closed_ = true;
        job_->on_event(now, connection, event);
        arm(now);
    }
    void on_wake(Instant now, proto::Connection& connection) override {
        armed_ = false;
        await_disk();
        if (*woken_ && !heard_at_) heard_at_ = now + late_;
        if (heard_at_ && now >= *heard_at_) {
            heard_at_.reset();
            *woken_ = false;
            job_->on_wake(now, connection);
        }
        if (abort_at_ && now >= *abort_at_) {
            abort_at_.reset();
            job_->abort(now, connection, ErrorCode::interrupted, "interrupted by the user");
        }
        arm(now);
    }
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        job_->on_piece(id, offset, bytes);
    }
    void abort_at(Instant when) { abort_at_ = when; }
    /// Delays the results of the disk threads by this time: models a slow disk.
    void slow_disk(Duration late) { late_ = late; }
    [[nodiscard]] Job& job() noexcept { return *job_; }

  private:
    void arm(Instant now) {
        if (closed_ || std::exchange(armed_, true)) return;
        wake_at(now + std::chrono::milliseconds(2));
    }

    std::unique_ptr<Job> job_;
    std::shared_ptr<std::atomic<bool>> woken_ = std::make_shared<std::atomic<bool>>(false);
    std::optional<Instant> abort_at_;
    std::optional<Instant> heard_at_;
    Duration late_{};
    bool armed_ = false;
    bool closed_ = false;
};

/// One transfer from the client to the server.
class TransferRig {
  public:
    TransferRig(Scenario& scenario, transfer::SendOptions send, transfer::LandingOptions receive) {
        auto receiver_job = transfer::ReceiveJob::create(std::move(receive), {}, [this] { received_ = true; });
        const transfer::SendRun run{.transfer = send.transfer};
        auto sender_job = transfer::SendJob::create(std::move(send), run, [this] { sent_ = true; });
        if (!receiver_job || !sender_job) return;
        receiver = std::make_shared<JobApp<transfer::ReceiveJob>>(std::move(receiver_job).value());
        sender = std::make_shared<JobApp<transfer::SendJob>>(std::move(sender_job).value());
        scenario.server().listen(1, [this](proto::Connection&) { return receiver; });
        scenario.client().connect(scenario.server().address(), sender);
        scenario.client().pump();
    }
    /// Runs until both jobs have a final result. Returns false if that takes longer than the given virtual time.
    bool run(Scenario& scenario, Duration deadline) {
        const bool both = scenario.run_until([this] { return received_ && sent_; }, deadline);
        // The receiver's disk thread finishes in real time, possibly after the last simulated event.
        for (int i = 0; i < 2000 && !(received_ && sent_); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return both || (received_ && sent_);
    }

    std::shared_ptr<JobApp<transfer::ReceiveJob>> receiver;
    std::shared_ptr<JobApp<transfer::SendJob>> sender;

  private:
    std::atomic<bool> received_{false};
    std::atomic<bool> sent_{false};
};

}  // namespace udtx::sim

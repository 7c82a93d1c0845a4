#include "transfer/run/job_watch.hpp"

#include <chrono>
#include <system_error>

#include "os/system.hpp"

namespace udtx::transfer {
namespace {

constexpr std::chrono::milliseconds kTurn{100};

}  // namespace

void JobWatch::press(Instant now, const std::optional<Error>& reason, Duration within) {
    std::optional<Error> why;
    {
        const Lock lock(mutex_);
        if (life_.goes_on() && reason) {
            life_.enter(JobStage::stopping);
            why = cancelled_ = reason;
            cancelled_at_ = now;
        } else if (life_ == JobStage::stopping && now - cancelled_at_ >= within) {
            life_.enter(JobStage::closing);
            why = cancelled_;
        }
    }
    if (why) ask_to_end(*why);
}

void TurnThread::start(std::function<bool()> turn) {
    {
        const Lock lock(mutex_);
        stopped_ = false;
    }
    const auto run = [this, turn = std::move(turn)] {
        while (turn()) {
            const auto until = std::chrono::steady_clock::now() + kTurn;
            const Lock lock(mutex_);
            while (!woken_ && !stopped_ && changed_.wait_until(mutex_, until)) {
            }
            if (stopped_) return;
            woken_ = false;
        }
    };
    try {
        thread_ = std::thread(run);
    } catch (const std::system_error& failed) {
        throw std::system_error(failed.code(),
                                "cannot start the thread of transfers; " + remedy_for_no_thread(failed.code().value()));
    }
}

void TurnThread::wake() noexcept {
    const Lock lock(mutex_);
    woken_ = true;
    changed_.notify_all();
}

void TurnThread::stop() noexcept {
    {
        const Lock lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

}  // namespace udtx::transfer

#include "transfer/run/turn_thread.hpp"

#include <chrono>
#include <system_error>
#include <utility>

#include "os/system.hpp"

namespace udtx::transfer {
namespace {

constexpr std::chrono::milliseconds kTurn{100};

}  // namespace

void TurnThread::start(std::function<bool()> turn) {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = false;
    }
    try {
        thread_ = std::thread([this, turn = std::move(turn)] { run(turn); });
    } catch (const std::system_error& failed) {
        throw std::system_error(failed.code(),
                                "cannot start the thread of transfers; " + remedy_for_no_thread(failed.code().value()));
    }
}

void TurnThread::run(const std::function<bool()>& turn) {
    while (turn()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kTurn, [this] { return woken_ || stopped_; });
        if (stopped_) return;
        woken_ = false;
    }
}

void TurnThread::wake() noexcept {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
}

void TurnThread::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

}  // namespace udtx::transfer

#include "transfer/disk_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include "os/system.hpp"

namespace udtx::transfer {

StopEvent::StopEvent() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw std::system_error(errno, std::generic_category());
    read_end_.reset(ends[0]);
    write_end_.reset(ends[1]);
}

void StopEvent::stop() noexcept {
    const char byte = 0;
    [[maybe_unused]] const ssize_t n = again([&] { return ::write(write_end_.get(), &byte, 1); });
}

bool StopEvent::wait(int fd, short events) const noexcept {
    std::array<pollfd, 2> fds{{{fd, events, 0}, {read_end_.get(), POLLIN, 0}}};
    while (::poll(fds.data(), fds.size(), -1) < 0) {
        if (errno != EINTR) return false;
    }
    return fds[1].revents == 0;
}

bool StopEvent::ready(int fd, short events) noexcept {
    pollfd one{fd, events, 0};
    return ::poll(&one, 1, 0) > 0;
}

Error out_of_memory() noexcept { return {ErrorCode::no_resources, "out of memory", ENOMEM}; }

namespace {

// With sixteen packet threads, the protocol thread and the watching threads, a process has fewer than 32 threads.
constexpr std::size_t kWorkThreads = 8;
constexpr std::size_t kSyncThreads = 4;
// The most threads of each pool if disks hang. A server with up to four packet threads then still has fewer than 32
// threads.
constexpr std::size_t kMostThreads = 12;

std::atomic<DiskPools*> made_pools{};

Error error_of_exception() noexcept {
    try {
        throw;
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& thrown) {
        try {
            return {ErrorCode::internal, thrown.what()};
        } catch (const std::bad_alloc&) {
        }
    } catch (...) {
        return {ErrorCode::internal, "unknown error"};
    }
    return out_of_memory();
}

thread_local bool is_worker = false;

}  // namespace

bool DiskPool::is_this_thread() noexcept { return is_worker; }

void DiskPool::add_thread() {
    threads_.emplace_back([this] {
        is_worker = true;
        run();
    });
}

void DiskPool::grow(std::size_t threads) noexcept {
    const Lock lock(growing_);
    add_threads(threads);
}

std::size_t DiskPool::threads() const {
    const Lock lock(growing_);
    return threads_.size();
}

bool DiskPool::idle() const {
    const Lock lock(mutex_);
    return ready_.empty() && sleeping_.empty() && running_ == 0;
}

void DiskPool::add_threads(std::size_t threads) noexcept {
    try {
        while (threads_.size() < threads) add_thread();
    } catch (const std::exception&) {
        // The threads that exist do the work, only later.
    }
}

void DiskPool::relieve(std::size_t threads, std::chrono::milliseconds after) noexcept {
    const Time now = std::chrono::steady_clock::now();
    const Lock growing(growing_);
    bool moves = false;
    {
        const Lock lock(mutex_);
        moves = ready_.empty() || std::exchange(begun_before_, begun_) != begun_;
    }
    if (moves) moved_ = now;
    if (moves || now - moved_ < after || threads_.size() >= threads) return;
    moved_ = now;
    // Grows by half, since the new threads may block at once as well.
    add_threads(std::min(threads, threads_.size() + std::max<std::size_t>(threads_.size() / 2, 1)));
}

DiskPool::~DiskPool() {
    {
        const Lock lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void DiskPool::enqueue(DiskTask& task) {
    if (task.state_ == TaskState::sleeping) sleeping_.erase({task.wakes_, &task});
    task.state_.enter(TaskState::ready);
    ready_.splice(ready_.end(), task.place_);
    task.at_ = std::prev(ready_.end());
    changed_.notify_one();
}

void DiskPool::lay_to_sleep(DiskTask& task, std::chrono::milliseconds time) noexcept {
    task.wakes_ = std::chrono::steady_clock::now() + time;
    try {
        sleeping_.emplace(task.wakes_, &task);
    } catch (const std::bad_alloc&) {
        return enqueue(task);  // the task runs too early, sees that and rests again
    }
    task.state_.enter(TaskState::sleeping);
    // The thread that watches the time must read the new first time.
    if (sleeping_.begin()->second == &task) changed_.notify_all();
}

void DiskPool::wake_sleepers(Time now) {
    while (!sleeping_.empty() && sleeping_.begin()->first <= now) enqueue(*sleeping_.begin()->second);
}

DiskTask* DiskPool::next() {
    for (;;) {
        if (ended_) return nullptr;
        if (!sleeping_.empty()) wake_sleepers(std::chrono::steady_clock::now());
        if (!ready_.empty()) break;
        if (sleeping_.empty() || watched_) {
            changed_.wait(mutex_);
            continue;
        }
        // One thread watches the time. Whatever wakes it, it checks again, or leaves the watch to another thread.
        watched_ = true;
        const Time first = sleeping_.begin()->first;
        static_cast<void>(changed_.wait_until(mutex_, first));
        watched_ = false;
    }
    DiskTask* const task = ready_.front();
    task->place_.splice(task->place_.end(), ready_, ready_.begin());
    task->state_.enter(TaskState::running);
    ++begun_;
    ++running_;
    if (!sleeping_.empty() && !watched_) changed_.notify_one();
    return task;
}

void DiskPool::run() {
    const Lock lock(mutex_);
    while (DiskTask* const task = next()) {
        DiskStep step;
        {
            const Unlock unlocked(mutex_);
            step = task->step();
        }
        --running_;
        if (task->state_ == TaskState::ending || step.then == DiskStep::Then::over) {
            task->state_.enter(TaskState::over);
        } else if (task->state_ == TaskState::woken || step.then == DiskStep::Then::again) {
            enqueue(*task);
        } else if (step.at_most != std::chrono::milliseconds::max()) {
            lay_to_sleep(*task, step.at_most);
        } else {
            task->state_.enter(TaskState::resting);
        }
        // Notifies under the lock: the thread that waits in end() destroys the task.
        task->stepped_.notify_all();
    }
}

DiskTask::DiskTask(DiskPool& pool, Work work, Failed failed)
    : pool_(pool), work_(std::move(work)), failed_(std::move(failed)), place_{this}, at_(place_.begin()) {}

DiskTask::~DiskTask() { end(); }

DiskStep DiskTask::step() noexcept {
    try {
        return work_();
    } catch (...) {
        return failed_(error_of_exception());
    }
}

void DiskTask::wake() noexcept {
    const Lock lock(pool_.mutex_);
    if (state_ == TaskState::resting || state_ == TaskState::sleeping) pool_.enqueue(*this);
    if (state_ == TaskState::running) state_.enter(TaskState::woken);
}

bool DiskTask::over() const noexcept {
    const Lock lock(pool_.mutex_);
    return state_ == TaskState::over;
}

void DiskTask::end() noexcept {
    const Lock lock(pool_.mutex_);
    if (state_ == TaskState::ready) place_.splice(place_.end(), pool_.ready_, at_);
    if (state_ == TaskState::sleeping) pool_.sleeping_.erase({wakes_, this});
    if (state_ == TaskState::running || state_ == TaskState::woken) {
        state_.enter(TaskState::ending);
    } else if (state_ != TaskState::ending && state_ != TaskState::over) {
        state_.enter(TaskState::over);
    }
    while (state_ != TaskState::over) stepped_.wait(pool_.mutex_);
}

DiskPools& disk_pools() {
    static DiskPools* const pools = [] {
        auto made = std::make_unique<DiskPools>();
        // Grows both in turn, so that both get some threads where threads are scarce.
        for (std::size_t n = 2; n <= kWorkThreads; ++n) {
            made->work.grow(n);
            if (n <= kSyncThreads) made->sync.grow(n);
        }
        made_pools = made.get();
        return made.release();
    }();
    return *pools;
}

Result<void> start_disk_pools() {
    try {
        static_cast<void>(disk_pools());
        return {};
    } catch (const std::exception& failed) {
        return Error{ErrorCode::no_resources,
                     "cannot start the disk threads: " + std::string(failed.what()) + "; " +
                         remedy_for_no_thread(error_number_of(failed)),
                     error_number_of(failed)};
    }
}

void relieve_disk_pools() {
    DiskPools* const pools = made_pools;
    if (pools == nullptr) return;
    pools->work.relieve(kMostThreads);
    pools->sync.relieve(kMostThreads);
}

}  // namespace udtx::transfer

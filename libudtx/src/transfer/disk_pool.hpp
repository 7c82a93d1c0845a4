// Threads that all jobs of a process share for their work on disks. A job's work is a task, which is called step by
// step and holds a thread only for the time of a step: what waits for a peer rests without one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::transfer {

class DiskTask;

class DiskPool {
  public:
    /// With one thread; std::system_error when there is none to be had.
    DiskPool() { add_thread(); }
    /// After the tasks.
    ~DiskPool();
    DiskPool(const DiskPool&) = delete;
    DiskPool& operator=(const DiskPool&) = delete;
    /// Up to so many threads, as far as they can be had.
    void grow(std::size_t threads) noexcept;
    /// Called now and then, as grow(): more threads, up to so many, where tasks are ready and none was begun since a
    /// call that long ago. All threads sit in disk calls then, perhaps of one disk that hangs.
    void relieve(std::size_t threads, std::chrono::milliseconds after = std::chrono::seconds(2)) noexcept;
    [[nodiscard]] std::size_t threads() const;

  private:
    friend class DiskTask;
    using Time = std::chrono::steady_clock::time_point;

    void add_thread();
    /// As grow(), under growing_.
    void add_threads(std::size_t threads) noexcept;
    void run();
    /// The next task that is ready. Waits for one; null: the pool ends.
    [[nodiscard]] DiskTask* next(std::unique_lock<std::mutex>& lock);
    void lay_to_sleep(DiskTask& task, std::chrono::milliseconds time) noexcept;
    void wake_sleepers(Time now);
    void enqueue(DiskTask& task);

    std::mutex mutex_;  // guards what follows, and the state of the tasks
    std::condition_variable changed_;
    std::list<DiskTask*> ready_;
    std::set<std::pair<Time, DiskTask*>> sleeping_;
    bool watched_ = false;  // a thread waits for the first of sleeping_
    bool ended_ = false;
    std::uint64_t begun_ = 0;  // steps

    mutable std::mutex growing_;  // guards what follows; taken before mutex_
    std::vector<std::thread> threads_;
    std::uint64_t begun_before_ = 0;  // when relieve() last found that others had begun
    Time moved_{};                    // and that was then
};

/// What is to come after a step.
struct DiskStep {
    enum class Then {
        again,  ///< another one, when others had their turn
        rest,   ///< nothing until wake()
        over,   ///< nothing ever
    };
    Then then = Then::rest;
    std::chrono::milliseconds at_most = std::chrono::milliseconds::max();  ///< so long it rests
    [[nodiscard]] static DiskStep again() { return {Then::again}; }
    [[nodiscard]] static DiskStep rest() { return {}; }
    [[nodiscard]] static DiskStep rest_for(std::chrono::milliseconds time) { return {Then::rest, time}; }
    [[nodiscard]] static DiskStep over() { return {Then::over}; }
};

/// The time that a step may take before others get their turn.
class DiskSlice {
  public:
    [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

  private:
    std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
};

/// One step at a time, on any of the pool's threads. The first one comes with the first wake().
class DiskTask {
  public:
    using Work = std::function<DiskStep()>;
    /// Called on the pool's thread when a step threw something; what comes then. It does not throw.
    using Failed = std::function<DiskStep(Error error)>;

    DiskTask(DiskPool& pool, Work work, Failed failed);
    /// As end().
    ~DiskTask();
    DiskTask(const DiskTask&) = delete;
    DiskTask& operator=(const DiskTask&) = delete;

    /// Any thread; one step at least begins after this call.
    void wake() noexcept;
    /// Its last step has ended, and end() does not wait.
    [[nodiscard]] bool over() const noexcept;
    /// Waits for the step that is under way; there is none afterwards. Not from within a step.
    void end() noexcept;

  private:
    friend class DiskPool;
    [[nodiscard]] DiskStep step() noexcept;

    DiskPool& pool_;
    Work work_;
    Failed failed_;
    std::list<DiskTask*> place_;  // our place in the pool's list while we are not in it: no wake() needs memory
    std::list<DiskTask*>::iterator at_;
    DiskPool::Time wakes_{};  // in the pool's sleeping_
    bool queued_ = false;
    bool sleeps_ = false;
    bool running_ = false;
    bool woken_ = false;  // during the step
    bool over_ = false;
    std::condition_variable stepped_;
};

/// The pools of this process. What reads, hashes and writes may wait for what commits and syncs, never the other way
/// round: hence two.
struct DiskPools {
    DiskPool work;
    DiskPool sync;
};
/// Made by the first call, which throws as DiskPool does when not each of them gets a thread. It stays until the
/// process ends: a thread that sits in a disk call is not waited for.
[[nodiscard]] DiskPools& disk_pools();
/// The same, for a start: says what is missing.
[[nodiscard]] Result<void> start_disk_pools();
/// DiskPool::relieve() for both, if they have been made; for whoever serves many.
void relieve_disk_pools();

}  // namespace udtx::transfer

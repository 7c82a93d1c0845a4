// The threads that all jobs of a process share for their disk work, how long they work, and how to end their waits.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// Lets one thread end another thread's wait on a descriptor.

class StopEvent {
  public:
    /// std::system_error: no descriptors are left for it.
    StopEvent();
    /// Any thread; it cannot be undone.
    void stop() noexcept;
    /// Waits until `fd` is ready for `events` (POLLIN, POLLOUT) or until stop(). False: stopped.
    [[nodiscard]] bool wait(int fd, short events) const noexcept;
    /// True if `fd` is ready now; it does not wait.
    [[nodiscard]] static bool ready(int fd, short events) noexcept;

  private:
    UniqueFd read_end_;
    UniqueFd write_end_;
};

// Measures how long a thread has worked; other threads can read it.

/// One thread works, in shifts. Any thread may call busy().
class WorkClock {
  public:
    class Shift {
      public:
        explicit Shift(WorkClock& clock) noexcept : clock_(clock) { clock_.began_ = now(); }
        ~Shift() {
            clock_.done_ += now() - clock_.began_;
            clock_.began_ = 0;
        }
        Shift(const Shift&) = delete;
        Shift& operator=(const Shift&) = delete;

      private:
        WorkClock& clock_;
    };

    /// Sum of all shifts so far, including the present one.
    [[nodiscard]] Duration busy() const noexcept {
        const std::int64_t began = began_;
        const std::int64_t done = done_;
        return std::chrono::nanoseconds(done + (began == 0 ? 0 : now() - began));
    }

  private:
    [[nodiscard]] static std::int64_t now() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
    std::atomic<std::int64_t> done_{0};   // ns
    std::atomic<std::int64_t> began_{0};  // ns on the steady clock; 0: no shift
};

// The threads that all jobs of a process share for their disk work. The work of a job is a task that the pool calls
// step by step. A task occupies a thread only during a step, so a task that waits for a peer occupies none.

class DiskTask;

class DiskPool {
  public:
    /// Starts one thread; std::system_error if that fails.
    DiskPool() { add_thread(); }
    /// Destroy the tasks first.
    ~DiskPool();
    DiskPool(const DiskPool&) = delete;
    DiskPool& operator=(const DiskPool&) = delete;
    /// Grows the pool to `threads` threads, or to as many as the system gives.
    void grow(std::size_t threads) noexcept;
    /// Call it from time to time, as grow(). It adds threads, up to `threads`, if tasks are ready and no step has
    /// started for `after`. All threads are then blocked in disk calls, perhaps on one disk that hangs.
    void relieve(std::size_t threads, std::chrono::milliseconds after = std::chrono::seconds(2)) noexcept;
    [[nodiscard]] std::size_t threads() const;
    /// True if all tasks rest until wake(). A simulation waits for it before its time goes on.
    [[nodiscard]] bool idle() const;
    /// True on a thread of a pool, which may wait for what other jobs will give back.
    [[nodiscard]] static bool is_this_thread() noexcept;

  private:
    friend class DiskTask;
    using Time = std::chrono::steady_clock::time_point;

    void add_thread() REQUIRES(growing_);
    /// As grow().
    void add_threads(std::size_t threads) noexcept REQUIRES(growing_);
    void run();
    /// Waits for a task that is ready and returns it; null: the pool ends.
    [[nodiscard]] DiskTask* next() REQUIRES(mutex_);
    void lay_to_sleep(DiskTask& task, std::chrono::milliseconds time) noexcept REQUIRES(mutex_);
    void wake_sleepers(Time now) REQUIRES(mutex_);
    void enqueue(DiskTask& task) REQUIRES(mutex_);

    mutable Mutex mutex_;  // also guards the state of the tasks
    Condition changed_;
    std::list<DiskTask*> ready_ GUARDED_BY(mutex_);
    std::set<std::pair<Time, DiskTask*>> sleeping_ GUARDED_BY(mutex_);
    bool watched_ GUARDED_BY(mutex_) = false;  // a thread waits for the first of sleeping_
    bool ended_ GUARDED_BY(mutex_) = false;
    std::uint64_t begun_ GUARDED_BY(mutex_) = 0;  // steps started so far
    std::size_t running_ GUARDED_BY(mutex_) = 0;  // steps that have not ended

    mutable Mutex growing_;  // lock it before mutex_
    std::vector<std::thread> threads_ GUARDED_BY(growing_);
    std::uint64_t begun_before_ GUARDED_BY(growing_) = 0;  // begun_ as relieve() last read it
    Time moved_ GUARDED_BY(growing_){};                    // when relieve() last saw progress
};

/// What the pool does with a task after a step.
struct DiskStep {
    enum class Then {
        again,  ///< runs another step, after the other tasks had their turn
        rest,   ///< waits for wake()
        over,   ///< ends the task
    };
    Then then = Then::rest;
    std::chrono::milliseconds at_most = std::chrono::milliseconds::max();  ///< longest rest
    [[nodiscard]] static DiskStep again() { return {Then::again}; }
    [[nodiscard]] static DiskStep rest() { return {}; }
    [[nodiscard]] static DiskStep rest_for(std::chrono::milliseconds time) { return {Then::rest, time}; }
    [[nodiscard]] static DiskStep over() { return {Then::over}; }
};

/// The time that a step may take before other tasks get their turn.
class DiskSlice {
  public:
    [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() >= end_; }

  private:
    std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
};

/// Running out of memory is a shortage, like running out of descriptors, and no internal error. Its text needs no
/// allocation.
[[nodiscard]] Error out_of_memory() noexcept;

enum class TaskState : std::uint8_t {
    resting,   ///< until wake()
    ready,     ///< in the pool's ready_
    sleeping,  ///< in the pool's sleeping_
    running,   ///< a thread runs a step
    woken,     ///< the same, and wake() was called meanwhile
    ending,    ///< the same, and end() waits for it
    over,
};
inline constexpr Step<TaskState> kTaskSteps[] = {
    {TaskState::resting, TaskState::ready},    {TaskState::resting, TaskState::over},
    {TaskState::ready, TaskState::running},    {TaskState::ready, TaskState::over},
    {TaskState::sleeping, TaskState::ready},   {TaskState::sleeping, TaskState::over},
    {TaskState::running, TaskState::resting},  {TaskState::running, TaskState::ready},
    {TaskState::running, TaskState::sleeping}, {TaskState::running, TaskState::woken},
    {TaskState::running, TaskState::ending},   {TaskState::running, TaskState::over},
    {TaskState::woken, TaskState::ready},      {TaskState::woken, TaskState::ending},
    {TaskState::woken, TaskState::over},       {TaskState::ending, TaskState::over},
};

/// A task runs one step at a time, on any of the pool's threads. The first wake() starts the first step.
class DiskTask {
  public:
    using Work = std::function<DiskStep()>;
    /// Called on the pool's thread if a step threw an exception. It returns what the pool does next, and must not
    /// throw.
    using Failed = std::function<DiskStep(Error error)>;

    DiskTask(DiskPool& pool, Work work, Failed failed);
    /// As end().
    ~DiskTask();
    DiskTask(const DiskTask&) = delete;
    DiskTask& operator=(const DiskTask&) = delete;

    /// Any thread. At least one step starts after this call.
    void wake() noexcept;
    /// True if the last step has ended: end() returns at once.
    [[nodiscard]] bool over() const noexcept;
    /// Waits for the step that runs; no step starts afterwards. Do not call it from within a step.
    void end() noexcept;

  private:
    friend class DiskPool;
    [[nodiscard]] DiskStep step() noexcept;

    DiskPool& pool_;
    Work work_;
    Failed failed_;
    std::list<DiskTask*> place_;  // our list node while we are not in the pool's list: wake() allocates nothing
    std::list<DiskTask*>::iterator at_;
    DiskPool::Time wakes_{};  // time of our entry in the pool's sleeping_
    Lifecycle<kTaskSteps> state_{TaskState::resting};
    Condition stepped_;
};

/// The pools of this process. Tasks that read, hash and write may wait for tasks that commit and sync, but never the
/// reverse. Therefore there are two pools.
struct DiskPools {
    DiskPool work;
    DiskPool sync;
};
/// The first call creates the pools. It throws, as DiskPool does, if one of them gets no thread. The pools exist until
/// the process ends, so the process never waits for a thread that is blocked in a disk call.
[[nodiscard]] DiskPools& disk_pools();
/// The same, for program start: the error says what is missing.
[[nodiscard]] Result<void> start_disk_pools();
/// Calls DiskPool::relieve() for both pools, if they exist. A server of many clients calls it.
void relieve_disk_pools();

}  // namespace udtx::transfer

// Locks whose use clang checks: -Wthread-safety reports a guarded member that is used without its mutex. Other
// compilers ignore the annotations (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html).
#pragma once

#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define UDTX_THREAD_SAFETY(annotation) __attribute__((annotation))
#else
#define UDTX_THREAD_SAFETY(annotation)
#endif

#define CAPABILITY(name) UDTX_THREAD_SAFETY(capability(name))
#define SCOPED_CAPABILITY UDTX_THREAD_SAFETY(scoped_lockable)
#define GUARDED_BY(mutex) UDTX_THREAD_SAFETY(guarded_by(mutex))
#define REQUIRES(...) UDTX_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) UDTX_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define RELEASE(...) UDTX_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define EXCLUDES(...) UDTX_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS UDTX_THREAD_SAFETY(no_thread_safety_analysis)

namespace udtx {

class CAPABILITY("mutex") Mutex {
  public:
    Mutex() = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() ACQUIRE() { native_.lock(); }
    void unlock() RELEASE() { native_.unlock(); }

  private:
    friend class Condition;
    std::mutex native_;
};

/// Holds a mutex for a scope.
class SCOPED_CAPABILITY Lock {
  public:
    explicit Lock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Lock() RELEASE() { mutex_.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    Mutex& mutex_;
};

/// Releases a mutex for a scope in which it is held.
class SCOPED_CAPABILITY Unlock {
  public:
    explicit Unlock(Mutex& mutex) RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
    ~Unlock() RELEASE() { mutex_.lock(); }  // the analysis reads this as the end of the scope
    Unlock(const Unlock&) = delete;
    Unlock& operator=(const Unlock&) = delete;

  private:
    Mutex& mutex_;
};

/// A wait may end without a reason, so callers check in a loop whether there is one. (A predicate would be a lambda, in
/// which clang does not see that the mutex is held.)
class Condition {
  public:
    void wait(Mutex& mutex) REQUIRES(mutex) {
        std::unique_lock held(mutex.native_, std::adopt_lock);
        condition_.wait(held);
        held.release();
    }
    /// False: the time is over.
    template <class TimePoint>
    bool wait_until(Mutex& mutex, const TimePoint& until) REQUIRES(mutex) {
        std::unique_lock held(mutex.native_, std::adopt_lock);
        const bool in_time = condition_.wait_until(held, until) == std::cv_status::no_timeout;
        held.release();
        return in_time;
    }
    void notify_one() noexcept { condition_.notify_one(); }
    void notify_all() noexcept { condition_.notify_all(); }

  private:
    std::condition_variable condition_;
};

}  // namespace udtx

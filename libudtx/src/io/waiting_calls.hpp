// Calls that wait for a change: threads that block, and calls with a callback.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/thread_safety.hpp"
#include "io/protocol_thread.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// The result of a call, once it has one.
template <class T>
using Attempted = std::optional<Result<T>>;

/// Base of an object whose changes calls wait for. A call is an attempt, `Attempted<T>()`. It runs under the mutex at
/// once and after each change, until it has a result. An attempt that needs the mutex is a member function bound with
/// std::bind_front.
///
/// `subject`: the object for which cancel() may end the call; null: only a cancel of all calls ends it.
///
/// Order of calls: change the object under the mutex, release it, then settle().
class WaitingCalls {
  public:
    WaitingCalls() = default;
    WaitingCalls(const WaitingCalls&) = delete;
    WaitingCalls& operator=(const WaitingCalls&) = delete;

    /// Blocks until the attempt has a result, the time is over, or the call is cancelled. `late`: the message of a
    /// time-out.
    template <class T, class Attempt>
    Result<T> wait(const void* subject, std::chrono::milliseconds timeout, const char* late, Attempt attempt)
        EXCLUDES(mutex_) {
        if (fork_guard_.forked()) return ForkGuard::error();
        bool over = timeout <= std::chrono::milliseconds::zero();
        const auto until = over ? Deadline() : deadline(timeout);
        const Lock lock(mutex_);
        Blocked self(*this, subject);
        for (;;) {
            if (auto result = attempt()) {
                flush();
                return std::move(*result);
            }
            if (self.cancelled) return cancelled();
            if (flush()) continue;
            if (over) return Error{ErrorCode::timeout, late};
            if (!may_block()) return never();
            over = !wait_for_change(until);
        }
    }

    /// Calls `done` once: within this call, or in the call that settles or cancels it. `done` may destroy this object,
    /// so these calls release the mutex first and call `done` last.
    template <class T, class Attempt>
    CallId begin(const void* subject, Attempt attempt, Callback<T> done) EXCLUDES(mutex_) {
        if (fork_guard_.forked()) {
            done(ForkGuard::error());
            return {};
        }
        auto call = std::make_unique<Begun<T, Attempt>>(std::move(attempt), std::move(done));
        call->subject = subject;
        CallId id{};
        Calls ended;
        {
            const Lock lock(mutex_);
            id = call->id = CallId{++last_id_};
            (call->try_once() ? ended : begun_).push_back(std::move(call));
            flush();
        }
        call_back(ended);
        return id;
    }

    /// Ends the calls of `subject` with `cancelled`, unless they have a result now; null: all calls.
    void cancel(const void* subject) noexcept EXCLUDES(mutex_);
    void cancel(CallId id) noexcept EXCLUDES(mutex_);

    static Error cancelled() { return {ErrorCode::cancelled, "cancelled"}; }

  protected:
    ~WaitingCalls() = default;

    /// Runs all attempts again after a change.
    void settle() noexcept EXCLUDES(mutex_);
    /// Runs after attempts. It may release the mutex for a while, and then returns true.
    virtual bool flush() REQUIRES(mutex_) { return false; }
    /// Check it before locking: at the fork another thread may have held the mutex.
    [[nodiscard]] bool forked() const noexcept { return fork_guard_.forked(); }

    Mutex mutex_;

  private:
    class Call {
      public:
        virtual ~Call() = default;
        virtual bool try_once() noexcept = 0;
        virtual void cancel() noexcept = 0;
        virtual void finish() noexcept = 0;
        const void* subject = nullptr;
        CallId id{};
    };
    using Calls = std::list<std::unique_ptr<Call>>;

    template <class T, class Attempt>
    class Begun final : public Call {
      public:
        Begun(Attempt attempt, Callback<T> done) : attempt_(std::move(attempt)), done_(std::move(done)) {}
        bool try_once() noexcept override {
            try {
                result_ = (*attempt_)();
            } catch (const std::exception& lack) {
                result_ = Error{ErrorCode::no_resources, describe_lack(lack)};
            }
            return result_.has_value();
        }
        void cancel() noexcept override {
            result_ = cancelled();
            attempt_.reset();  // its request is no longer wanted
        }
        void finish() noexcept override { done_(std::move(*result_)); }

      private:
        std::optional<Attempt> attempt_;
        Callback<T> done_;
        Attempted<T> result_;
    };

    /// A waiting thread. Made and destroyed under the mutex.
    struct Blocked {
        Blocked(WaitingCalls& calls, const void* what) NO_THREAD_SAFETY_ANALYSIS : owner(calls),
                                                                                   subject(what),
                                                                                   next(calls.blocked_) {
            if (next != nullptr) next->previous = this;
            calls.blocked_ = this;
        }
        ~Blocked() NO_THREAD_SAFETY_ANALYSIS {
            (previous != nullptr ? previous->next : owner.blocked_) = next;
            if (next != nullptr) next->previous = previous;
        }
        Blocked(const Blocked&) = delete;
        Blocked& operator=(const Blocked&) = delete;

        WaitingCalls& owner;
        const void* subject;
        Blocked* next;
        Blocked* previous = nullptr;
        bool cancelled = false;
    };

    using Deadline = std::optional<std::chrono::steady_clock::time_point>;

    /// False on the protocol thread: it makes the changes, so it must not wait for one.
    static bool may_block() noexcept { return !ProtocolThread::on_one(); }
    static Error never() {
        return {ErrorCode::invalid_argument, "a callback on the protocol thread must not wait for that thread"};
    }
    static Deadline deadline(std::chrono::milliseconds timeout);
    /// False: the deadline has passed.
    bool wait_for_change(const Deadline& until) REQUIRES(mutex_);
    /// Ends the chosen calls.
    template <class Chosen>
    void end(const Chosen& chosen) noexcept EXCLUDES(mutex_);
    static void call_back(const Calls& ended) noexcept {
        for (const auto& call : ended) call->finish();
    }

    ForkGuard fork_guard_;
    Condition changed_;
    Calls begun_ GUARDED_BY(mutex_);
    Blocked* blocked_ GUARDED_BY(mutex_) = nullptr;  // list of objects on the stacks of the waiting threads
    std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
};

}  // namespace udtx::io

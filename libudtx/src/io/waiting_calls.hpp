// Calls that wait for a change: threads that block, and calls with a callback.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "udtx/callback.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// The owner's mutex guards the state for which they wait. A call is an attempt, `std::optional<Result<T>>()`. It runs
/// under the mutex at once and after each change, until it has a result.
///
/// `subject`: the object for which cancel() may end the call; null: only a cancel of all calls ends it.
class WaitingCalls {
    class Call;
    using Calls = std::list<std::unique_ptr<Call>>;

  public:
    using Lock = std::unique_lock<std::mutex>;

    /// A flush runs under the lock after attempts. It may release the lock for a while, and then returns true.
    struct NoFlush {
        bool operator()(Lock&) const noexcept { return false; }
    };

    /// Blocks until the attempt has a result, the time is over, or the call is cancelled. `late`: the message of a
    /// time-out.
    template <class T, class Attempt, class Flush = NoFlush>
    Result<T> wait(Lock& lock, const void* subject, std::chrono::milliseconds timeout, const char* late,
                   Attempt attempt, const Flush& flush = {}) {
        bool over = timeout <= std::chrono::milliseconds::zero();
        const auto until = over ? Deadline() : deadline(timeout);
        const Blocked self(*this, subject);
        for (;;) {
            if (auto result = attempt()) {
                flush(lock);
                return std::move(*result);
            }
            if (self.cancelled) return cancelled();
            if (flush(lock)) continue;
            if (over) return Error{ErrorCode::timeout, late};
            if (!may_block()) return never();
            over = !wait_for_change(lock, until);
        }
    }

    /// Calls `done` once: within this call, or in the call that settles or cancels it. `done` may destroy the owner, so
    /// these calls release the lock first and call `done` last.
    template <class T, class Attempt, class Flush = NoFlush>
    CallId begin(Lock& lock, const void* subject, Attempt attempt, Callback<T> done, const Flush& flush = {}) {
        auto call = std::make_unique<Begun<T, Attempt>>(std::move(attempt), std::move(done));
        call->subject = subject;
        call->id = CallId{++last_id_};
        const CallId id = call->id;
        Calls ended;
        (call->try_once() ? ended : begun_).push_back(std::move(call));
        flush(lock);
        call_back(lock, ended);
        return id;
    }

    /// Runs all attempts again after a change.
    template <class Flush = NoFlush>
    void settle(Lock& lock, const Flush& flush = {}) noexcept {
        const Calls ended = take_settled();
        flush(lock);
        call_back(lock, ended);
    }
    /// Ends the calls of `subject` with `cancelled`, unless they have a result now; null: all calls.
    template <class Flush = NoFlush>
    void cancel(Lock& lock, const void* subject, const Flush& flush = {}) noexcept {
        const Calls ended = take_cancelled(subject);
        flush(lock);
        call_back(lock, ended);
    }
    template <class Flush = NoFlush>
    void cancel(Lock& lock, CallId id, const Flush& flush = {}) noexcept {
        const Calls ended = take_cancelled(id);
        flush(lock);
        call_back(lock, ended);
    }

    static Error cancelled() { return {ErrorCode::cancelled, "cancelled"}; }

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

    template <class T, class Attempt>
    class Begun final : public Call {
      public:
        Begun(Attempt attempt, Callback<T> done) : attempt_(std::move(attempt)), done_(std::move(done)) {}
        bool try_once() noexcept override {
            try {
                result_ = (*attempt_)();
            } catch (const std::exception& lack) {
                result_ = Error{ErrorCode::internal, describe_lack(lack)};
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
        std::optional<Result<T>> result_;
    };

    struct Blocked {
        Blocked(WaitingCalls& calls, const void* what) : owner(calls), subject(what), next(calls.blocked_) {
            if (next != nullptr) next->previous = this;
            calls.blocked_ = this;
        }
        ~Blocked() {
            (previous != nullptr ? previous->next : owner.blocked_) = next;
            if (next != nullptr) next->previous = previous;
        }
        Blocked(const Blocked&) = delete;
        Blocked& operator=(const Blocked&) = delete;

        WaitingCalls& owner;
        const void* subject;
        mutable Blocked* next;
        mutable Blocked* previous = nullptr;
        bool cancelled = false;
    };

    using Deadline = std::optional<std::chrono::steady_clock::time_point>;

    /// False on the protocol thread: it makes the changes, so it must not wait for one.
    static bool may_block() noexcept;
    static Error never() {
        return {ErrorCode::invalid_argument, "a callback on the protocol thread must not wait for that thread"};
    }
    static Deadline deadline(std::chrono::milliseconds timeout);
    /// False: the deadline has passed.
    bool wait_for_change(Lock& lock, const Deadline& until);
    /// Removes the chosen calls from begun_ and returns them.
    template <class Chosen>
    Calls take(const Chosen& chosen) noexcept;
    Calls take_settled() noexcept;
    Calls take_cancelled(const void* subject) noexcept;
    Calls take_cancelled(CallId id) noexcept;
    static void call_back(Lock& lock, const Calls& ended) noexcept;

    std::condition_variable changed_;
    Calls begun_;
    Blocked* blocked_ = nullptr;  // list of objects on the stacks of the waiting threads
    std::uint64_t last_id_ = 0;
};

}  // namespace udtx::io

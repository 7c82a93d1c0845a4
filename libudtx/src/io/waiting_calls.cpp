#include "io/waiting_calls.hpp"

namespace udtx::io {

WaitingCalls::Deadline WaitingCalls::deadline(std::chrono::milliseconds timeout) {
    const auto now = std::chrono::steady_clock::now();
    // What is beyond the clock is for ever.
    const auto most = std::chrono::steady_clock::time_point::max() - now;
    if (timeout >= std::chrono::duration_cast<std::chrono::milliseconds>(most)) return std::nullopt;
    return now + timeout;
}

bool WaitingCalls::wait_for_change(Lock& lock, const Deadline& until) {
    if (!until) {
        changed_.wait(lock);
        return true;
    }
    return changed_.wait_until(lock, *until) == std::cv_status::no_timeout;
}

/// Takes out the calls that are chosen, and finishes them without the lock.
template <class Chosen>
void WaitingCalls::end(Lock& lock, const Chosen& chosen) noexcept {
    Calls ended;
    for (auto at = begun_.begin(); at != begun_.end();) {
        const auto call = at++;
        if (chosen(**call)) ended.splice(ended.end(), begun_, call);
    }
    changed_.notify_all();
    lock.unlock();
    for (const auto& call : ended) call->finish();
}

void WaitingCalls::settle(Lock& lock) noexcept {
    end(lock, [](Call& call) { return call.try_once(); });
}

void WaitingCalls::cancel(Lock& lock, const void* subject) noexcept {
    const auto meant = [subject](const auto& call) { return subject == nullptr || call.subject == subject; };
    for (Blocked* at = blocked_; at != nullptr; at = at->next) at->cancelled = at->cancelled || meant(*at);
    end(lock, [&](Call& call) {
        if (!meant(call)) return false;
        if (!call.try_once()) call.cancel();
        return true;
    });
}

void WaitingCalls::cancel(Lock& lock, CallId id) noexcept {
    end(lock, [id](Call& call) {
        if (call.id != id) return false;
        if (!call.try_once()) call.cancel();
        return true;
    });
}

}  // namespace udtx::io

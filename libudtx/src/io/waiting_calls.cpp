#include "io/waiting_calls.hpp"

namespace udtx::io {

WaitingCalls::Deadline WaitingCalls::deadline(std::chrono::milliseconds timeout) {
    const auto now = std::chrono::steady_clock::now();
    // A time-out beyond the clock's range means no deadline.
    const auto most = std::chrono::steady_clock::time_point::max() - now;
    if (timeout >= std::chrono::duration_cast<std::chrono::milliseconds>(most)) return std::nullopt;
    return now + timeout;
}

bool WaitingCalls::wait_for_change(const Deadline& until) {
    if (until) return changed_.wait_until(mutex_, *until);
    changed_.wait(mutex_);
    return true;
}

template <class Chosen>
void WaitingCalls::end(const Chosen& chosen) noexcept {
    Calls ended;
    {
        const Lock lock(mutex_);
        for (auto at = begun_.begin(); at != begun_.end();) {
            const auto call = at++;
            if (chosen(**call)) ended.splice(ended.end(), begun_, call);
        }
        changed_.notify_all();
        flush();
    }
    call_back(ended);
}

void WaitingCalls::settle() noexcept {
    end([](Call& call) { return call.try_once(); });
}

void WaitingCalls::cancel(const void* subject) noexcept {
    if (forked()) return;
    const auto meant = [subject](const auto& call) { return subject == nullptr || call.subject == subject; };
    {
        const Lock lock(mutex_);
        for (Blocked* at = blocked_; at != nullptr; at = at->next) at->cancelled = at->cancelled || meant(*at);
    }
    end([&](Call& call) {
        if (!meant(call)) return false;
        if (!call.try_once()) call.cancel();
        return true;
    });
}

void WaitingCalls::cancel(CallId id) noexcept {
    if (forked()) return;
    end([id](Call& call) {
        if (call.id != id) return false;
        if (!call.try_once()) call.cancel();
        return true;
    });
}

}  // namespace udtx::io

#include "io/waiting_calls.hpp"

#include "io/protocol_thread.hpp"

namespace udtx::io {

bool WaitingCalls::may_block() noexcept { return !ProtocolThread::on_one(); }

WaitingCalls::Deadline WaitingCalls::deadline(std::chrono::milliseconds timeout) {
    const auto now = std::chrono::steady_clock::now();
    // A time-out beyond the clock's range means no deadline.
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

template <class Chosen>
WaitingCalls::Calls WaitingCalls::take(const Chosen& chosen) noexcept {
    Calls taken;
    for (auto at = begun_.begin(); at != begun_.end();) {
        const auto call = at++;
        if (chosen(**call)) taken.splice(taken.end(), begun_, call);
    }
    changed_.notify_all();
    return taken;
}

WaitingCalls::Calls WaitingCalls::take_settled() noexcept {
    return take([](Call& call) { return call.try_once(); });
}

WaitingCalls::Calls WaitingCalls::take_cancelled(const void* subject) noexcept {
    const auto meant = [subject](const auto& call) { return subject == nullptr || call.subject == subject; };
    for (Blocked* at = blocked_; at != nullptr; at = at->next) at->cancelled = at->cancelled || meant(*at);
    return take([&](Call& call) {
        if (!meant(call)) return false;
        if (!call.try_once()) call.cancel();
        return true;
    });
}

WaitingCalls::Calls WaitingCalls::take_cancelled(CallId id) noexcept {
    return take([id](Call& call) {
        if (call.id != id) return false;
        if (!call.try_once()) call.cancel();
        return true;
    });
}

void WaitingCalls::call_back(Lock& lock, const Calls& ended) noexcept {
    lock.unlock();
    for (const auto& call : ended) call->finish();
}

}  // namespace udtx::io

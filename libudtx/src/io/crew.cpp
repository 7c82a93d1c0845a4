#include "io/crew.hpp"

#include <exception>
#include <system_error>
#include <utility>

namespace udtx::io {

Crew::Crew(std::size_t lanes, Work work) : work_(std::move(work)) {
    threads_.reserve(lanes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        try {
            threads_.emplace_back([this, lane] { run(lane); });
        } catch (const std::system_error&) {
            if (threads_.empty()) throw;
            return;
        }
    }
}

Crew::~Crew() {
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    called_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Crew::call(std::size_t lanes) {
    {
        const std::lock_guard lock(mutex_);
        ++calls_;
    }
    if (lanes >= threads_.size()) {
        called_.notify_all();
        return;
    }
    for (std::size_t i = 0; i < lanes; ++i) called_.notify_one();
}

void Crew::run(std::size_t lane) {
    std::unique_lock lock(mutex_);
    while (!ended_) {
        const std::uint64_t seen = calls_;  // so a call() during the work is not missed
        lock.unlock();
        try {
            while (work_(lane)) {
            }
        } catch (const std::exception&) {
            // There is no memory to report it. The next call finds the remaining work.
        }
        lock.lock();
        called_.wait(lock, [&] { return ended_ || calls_ != seen; });
    }
}

}  // namespace udtx::io

// Helper threads of the protocol thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace udtx::io {

/// Each thread is a lane, numbered from 0. It does pieces of work while there are any, then sleeps until call(). The
/// caller adds the work first and then calls.
class Crew {
  public:
    /// Does one piece of work; false if there is none.
    using Work = std::function<bool(std::size_t lane)>;

    /// Starts fewer lanes if the system has no more threads. Throws std::system_error if it cannot start even one.
    Crew(std::size_t lanes, Work work);
    /// Waits until the current pieces of work are finished.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// Reports that there is work for `lanes` lanes; any thread.
    void call(std::size_t lanes);
    [[nodiscard]] std::size_t lanes() const noexcept { return threads_.size(); }

  private:
    void run(std::size_t lane);

    Work work_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable called_;
    std::uint64_t calls_ = 0;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace udtx::io

// Threads that work for the protocol thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace udtx::io {

/// Each thread is a lane with a number from 0 on: it does pieces of work while there are any, and sleeps until call()
/// otherwise. Whoever adds work calls afterwards.
class Crew {
  public:
    /// Does one piece; false when there was none.
    using Work = std::function<bool(std::size_t lane)>;

    /// Fewer lanes where there are no more threads to be had; std::system_error: there is not one.
    Crew(std::size_t lanes, Work work);
    /// Waits for the pieces that are under way.
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    /// There is work for so many; any thread.
    void call(std::size_t lanes);
    [[nodiscard]] std::size_t lanes() const noexcept { return threads_.size(); }

  private:
    void run(std::size_t lane);

    Work work_;
    std::mutex mutex_;  // guards what follows
    std::condition_variable called_;
    std::uint64_t calls_ = 0;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace udtx::io

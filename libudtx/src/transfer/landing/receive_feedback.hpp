// What the disk threads of the receiver tell the protocol thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"

namespace udtx::transfer {

class ReceiveFeedback {
  public:
    struct News {
        std::uint64_t released_bytes = 0;  ///< since the last call
        std::vector<message::FileFailed> failed;
        std::optional<message::Resume> resume;  ///< once, before the answers
        std::vector<message::Answer> answers;
        std::vector<std::string> erased;          ///< paths
        std::vector<std::string> notes;           ///< for the user at the sender
        std::optional<message::Confirm> confirm;  ///< everything is done; once
        std::optional<Error> fatal;
        bool worker_idle = false;  ///< it has tidied up and ends; once
    };

    explicit ReceiveFeedback(LateWaker& waker) : waker_(waker) {}

    /// fn(News&) under the lock; wakes the protocol thread unless it has been woken and not yet come.
    template <class Fn>
    void edit(Fn&& fn) {
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            fn(news_);
            wake = !std::exchange(woken_, true);
        }
        if (wake) waker_.wake();
    }
    /// The same, but waits while too much of what edit() adds has not been taken; until `stopped` says so.
    template <class Fn, class Stopped>
    void edit_when_taken(Fn&& fn, Stopped&& stopped) {
        {
            std::unique_lock lock(mutex_);
            const auto room = [&] { return news_.answers.size() < kMaxAnswers && news_.erased.size() < kMaxErased; };
            while (!room() && !stopped()) taken_.wait_for(lock, kLookAgain);
        }
        edit(fn);
    }
    /// `with_lists`: also answers and deleted names, for which there must be room in the stream.
    [[nodiscard]] News take(bool with_lists) {
        const std::lock_guard lock(mutex_);
        woken_ = false;
        News out = std::exchange(news_, {});
        if (!with_lists) {
            news_.answers = std::exchange(out.answers, {});
            news_.erased = std::exchange(out.erased, {});
        }
        taken_.notify_all();
        return out;
    }

  private:
    // Each may have a thousand pieces; small ones are taken by the thousand.
    static constexpr std::size_t kMaxAnswers = 256;
    static constexpr std::size_t kMaxErased = 4096;
    static constexpr auto kLookAgain = std::chrono::milliseconds(50);

    LateWaker& waker_;
    std::mutex mutex_;
    std::condition_variable taken_;
    News news_;
    bool woken_ = false;
};

}  // namespace udtx::transfer

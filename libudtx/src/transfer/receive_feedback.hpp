// What the disk threads of the receiver tell the protocol thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "transfer/job_report.hpp"
#include "transfer/messages.hpp"

namespace udtx::transfer {

class ReceiveFeedback {
  public:
    struct News {
        std::uint64_t released_bytes = 0;  ///< since the last call
        std::vector<message::FileFailed> failed;
        std::optional<message::Resume> resume;  ///< once, before the answers
        std::vector<message::Answer> answers;
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
    [[nodiscard]] News take() {
        const std::lock_guard lock(mutex_);
        woken_ = false;
        return std::exchange(news_, {});
    }

  private:
    LateWaker& waker_;
    std::mutex mutex_;
    News news_;
    bool woken_ = false;
};

}  // namespace udtx::transfer

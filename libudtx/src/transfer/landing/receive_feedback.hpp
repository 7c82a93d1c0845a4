// What the disk tasks of the receiver tell the protocol thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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
        std::deque<message::Answer> answers;
        std::deque<std::string> erased;           ///< paths
        std::vector<std::string> notes;           ///< for the user at the sender
        bool more = false;                        ///< of the two, for another call
        std::optional<message::Confirm> confirm;  ///< everything is done; once
        std::optional<Error> fatal;
        bool worker_idle = false;  ///< it has tidied up and ends; once
    };

    explicit ReceiveFeedback(LateWaker& waker) : waker_(waker) {}

    /// `room`: there is room() again. Before the first use.
    void call(std::function<void()> room) { room_ = std::move(room); }

    /// fn(News&) under the lock; wakes the protocol thread unless it has been woken and not yet come.
    template <class Fn>
    void edit(Fn&& fn) {
        {
            const std::lock_guard lock(mutex_);
            fn(news_);
            if (std::exchange(woken_, true)) return;
        }
        try {
            waker_.wake();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            woken_ = false;
            throw;
        }
    }
    /// For more lists. What an operation says is added whole, but none is begun without room.
    [[nodiscard]] bool has_room() const {
        const std::lock_guard lock(mutex_);
        return room_for_more();
    }
    /// `with_lists`: also answers and deleted names, for which there must be room in the stream; not more of them than
    /// the stream should get at once.
    [[nodiscard]] News take(bool with_lists) {
        News out;
        bool room = false;
        {
            const std::lock_guard lock(mutex_);
            const bool had_room = room_for_more();
            woken_ = false;
            out = std::exchange(news_, {});
            out.answers.swap(news_.answers);
            out.erased.swap(news_.erased);
            if (with_lists) move_some(news_.answers, out.answers, kMaxAnswers);
            if (with_lists) move_some(news_.erased, out.erased, kMaxErased);
            out.more = with_lists && !(news_.answers.empty() && news_.erased.empty());
            room = !had_room && room_for_more();
        }
        if (room && room_) room_();
        return out;
    }

  private:
    // Each may have a thousand pieces; small ones are taken by the thousand.
    static constexpr std::size_t kMaxAnswers = 256;
    static constexpr std::size_t kMaxErased = 4096;

    [[nodiscard]] bool room_for_more() const {
        return news_.answers.size() < kMaxAnswers && news_.erased.size() < kMaxErased;
    }
    template <class List>
    static void move_some(List& from, List& to, std::size_t most) {
        for (; most > 0 && !from.empty(); --most, from.pop_front()) to.push_back(std::move(from.front()));
    }

    LateWaker& waker_;
    std::function<void()> room_;
    mutable std::mutex mutex_;
    News news_;
    bool woken_ = false;
};

}  // namespace udtx::transfer

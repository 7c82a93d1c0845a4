// What the disk tasks of the receiver tell the protocol thread.
#pragma once

#include <atomic>
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
        std::uint64_t released_bytes = 0;       ///< since the last call
        std::optional<message::Resume> resume;  ///< once, before the answers
        std::deque<message::Answer> answers;
        std::deque<std::string> erased;  ///< paths
        std::deque<message::FileFailed> failed;
        std::deque<std::string> notes;            ///< for the user at the sender
        bool more = false;                        ///< of these lists, for another call
        std::optional<message::Confirm> confirm;  ///< everything is done, and the lists were taken; once
        std::optional<message::Share> share;      ///< the latest
        std::optional<Error> fatal;
        bool worker_idle = false;  ///< it has tidied up and ends; once
    };

    explicit ReceiveFeedback(LateWaker& waker) : waker_(waker) {}

    /// Of the data stream; any thread.
    void note_arrived(std::uint64_t bytes) noexcept { arrived_.fetch_add(bytes, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_.load(std::memory_order_relaxed); }

    /// `room`: there is room() again. Before the first use.
    void call(std::function<void()> room) { room_ = std::move(room); }

    /// Of the data stream, so much has left memory. Small files are many: the protocol thread is woken for some of them
    /// together, and at the latest by tell_released().
    void note_released(std::uint64_t bytes) {
        bool worth_telling = false;
        {
            const std::lock_guard lock(mutex_);
            news_.released_bytes += bytes;
            worth_telling = news_.released_bytes >= kReleasedAtOnce;
        }
        if (worth_telling) edit([](News&) {});
    }
    /// Before whoever notes rests.
    void tell_released() {
        const bool any = [this] {
            const std::lock_guard lock(mutex_);
            return news_.released_bytes > 0;
        }();
        if (any) edit([](News&) {});
    }

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
    /// What goes into the stream beside what is urgent: the lists, for which there must be room.
    enum class Lists : std::uint8_t {
        none,
        some,  ///< not more than the stream should get at once
        all,   ///< nothing comes after it
    };
    [[nodiscard]] News take(Lists lists) {
        News out;
        bool room = false;
        {
            const std::lock_guard lock(mutex_);
            const bool had_room = room_for_more();
            woken_ = false;
            out = std::exchange(news_, {});
            if (lists != Lists::all) leave_lists(out, lists == Lists::some);
            room = !had_room && room_for_more();
        }
        if (room && room_) room_();
        return out;
    }

  private:
    // Each may have a thousand pieces; small ones are taken by the thousand.
    static constexpr std::size_t kMaxAnswers = 256;
    static constexpr std::size_t kMaxErased = 4096;
    static constexpr std::uint64_t kReleasedAtOnce = 64U << 10U;
    // With names and reasons of some kilobytes.
    static constexpr std::size_t kMaxFailed = 256;

    [[nodiscard]] bool room_for_more() const {
        return news_.answers.size() < kMaxAnswers && news_.erased.size() < kMaxErased &&
               news_.failed.size() < kMaxFailed && news_.notes.size() < kMaxFailed;
    }
    /// Back to news_, but for the first of each with `some`.
    void leave_lists(News& out, bool some) {
        leave(news_.answers, out.answers, some ? kMaxAnswers : 0);
        leave(news_.erased, out.erased, some ? kMaxErased : 0);
        leave(news_.failed, out.failed, some ? kMaxFailed : 0);
        leave(news_.notes, out.notes, some ? kMaxFailed : 0);
        const bool empty = news_.answers.empty() && news_.erased.empty() && news_.failed.empty() && news_.notes.empty();
        out.more = some && !empty;
        if (!empty) news_.confirm.swap(out.confirm);
    }
    template <class List>
    static void leave(List& news, List& out, std::size_t most) {
        news.swap(out);
        for (; most > 0 && !news.empty(); --most, news.pop_front()) out.push_back(std::move(news.front()));
    }

    LateWaker& waker_;
    std::atomic<std::uint64_t> arrived_{0};
    std::function<void()> room_;
    mutable std::mutex mutex_;
    News news_;
    bool woken_ = false;
};

}  // namespace udtx::transfer

// What the disk tasks of the receiver report to the protocol thread.
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
        std::uint64_t released_bytes = 0;       ///< since the last take()
        std::optional<message::Resume> resume;  ///< once, before the answers
        std::deque<message::Answer> answers;
        std::deque<std::string> erased;  ///< paths
        std::deque<message::FileFailed> failed;
        std::deque<std::string> notes;            ///< for the user at the sender
        bool more = false;                        ///< these lists have more for another take()
        std::optional<message::Confirm> confirm;  ///< once, when everything is done and the lists are empty
        std::optional<message::Share> share;      ///< the latest
        std::optional<message::Job> job;          ///< the latest
        std::optional<Error> fatal;
        bool worker_idle = false;  ///< once: the worker has cleaned up and ends
    };

    explicit ReceiveFeedback(LateWaker& waker) : waker_(waker) {}

    /// Counts bytes of the data stream that arrived. Any thread may call it.
    void note_arrived(std::uint64_t bytes) noexcept { arrived_.fetch_add(bytes, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_.load(std::memory_order_relaxed); }

    /// `room` is called when has_room() becomes true again. Set it before the first use.
    void call(std::function<void()> room) { room_ = std::move(room); }

    /// Counts bytes of the data stream that have left memory. Wakes the protocol thread once for several small files.
    /// tell_released() reports the rest.
    void note_released(std::uint64_t bytes) {
        bool worth_telling = false;
        {
            const std::lock_guard lock(mutex_);
            news_.released_bytes += bytes;
            worth_telling = news_.released_bytes >= kReleasedAtOnce;
        }
        if (worth_telling) edit([](News&) {});
    }
    /// Call it before the thread that calls note_released() becomes idle.
    void tell_released() {
        const bool any = [this] {
            const std::lock_guard lock(mutex_);
            return news_.released_bytes > 0;
        }();
        if (any) edit([](News&) {});
    }

    /// Calls fn(News&) under the lock. Wakes the protocol thread, unless it was woken and has not called take() yet.
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
    /// True if the lists have room. An operation adds all of its reports, but no operation is started without room.
    [[nodiscard]] bool has_room() const {
        const std::lock_guard lock(mutex_);
        return room_for_more();
    }
    /// Which lists go into the stream besides the urgent news. The stream must have room for them.
    enum class Lists : std::uint8_t {
        none,
        some,  ///< at most what the stream should get at once
        all,   ///< nothing follows
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
    // An answer may have a thousand pieces. Erased paths are small, so thousands of them are taken.
    static constexpr std::size_t kMaxAnswers = 256;
    static constexpr std::size_t kMaxErased = 4096;
    static constexpr std::uint64_t kReleasedAtOnce = 64U << 10U;
    // Each holds names and reasons of some kilobytes.
    static constexpr std::size_t kMaxFailed = 256;

    [[nodiscard]] bool room_for_more() const {
        return news_.answers.size() < kMaxAnswers && news_.erased.size() < kMaxErased &&
               news_.failed.size() < kMaxFailed && news_.notes.size() < kMaxFailed;
    }
    /// Moves the lists back to news_. With `some`, the first items of each list stay in `out`.
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

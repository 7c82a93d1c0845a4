// What the receiver says it has, passed from the sender's protocol thread to its disk task.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "transfer/message/messages.hpp"

namespace udtx::transfer {

/// What the receiver has of one file.
struct RemoteHolding {
    Holding has = Holding::nothing;
    std::unordered_map<std::uint64_t, ProvenPiece> pieces;  ///< by offset
    std::uint8_t changes = 0;                               ///< of a dry run
};

class ResumeAnswers {
  public:
    /// `news` is called when a waiting task should check again. Call this before the disk task's first step.
    void call(std::function<void()> news) {
        const std::lock_guard lock(mutex_);
        news_ = std::move(news);
    }

    // --- protocol thread
    void decide(const message::Resume& resume);
    /// Any thread. Assumes that the receiver has nothing, so that no query is needed. It has no effect once the
    /// receiver has answered.
    void presume_nothing();
    /// protocol: there was no such query, or all answers together have more pieces than a journal can hold.
    [[nodiscard]] Result<void> add(const message::Answer& answer);
    /// Any thread: memory of answers that were not taken.
    [[nodiscard]] std::uint64_t held() const {
        const std::lock_guard lock(mutex_);
        return pieces_ * kPieceCost + open_.size() * sizeof(Slot);
    }
    /// Any thread. Ends all waiting.
    void cancel();

    // --- disk task
    /// Whether the receiver has something; nullopt: it has not said so yet.
    [[nodiscard]] std::optional<bool> decision() const;
    /// Valid once decided: files that are the same must be announced as well.
    [[nodiscard]] bool announce_all() const;
    /// Registers a query and returns its number.
    [[nodiscard]] std::uint64_t ask();
    /// True if the answer is here, or none will come.
    [[nodiscard]] bool answered(std::uint64_t number) const;
    /// The answer to a query; take each once.
    [[nodiscard]] RemoteHolding take(std::uint64_t number);
    /// Instead of take(): the answer will be ignored.
    void forget(std::uint64_t number);

  private:
    static constexpr std::uint64_t kPieceCost = sizeof(ProvenPiece) + 40;
    struct Slot {
        RemoteHolding holding;
        bool complete = false;
        bool forgotten = false;
    };
    void erase(std::unordered_map<std::uint64_t, Slot>::iterator at) {
        pieces_ -= at->second.holding.pieces.size();
        open_.erase(at);
    }
    void tell() const {
        std::unique_lock lock(mutex_);
        const std::function<void()> news = news_;
        lock.unlock();
        if (news) news();
    }

    mutable std::mutex mutex_;
    std::function<void()> news_;
    std::optional<bool> active_;
    bool announce_all_ = false;
    std::unordered_map<std::uint64_t, Slot> open_;  // asked and not taken
    std::uint64_t next_ = 0;
    std::uint64_t pieces_ = 0;  // in open_
    bool cancelled_ = false;
};

}  // namespace udtx::transfer

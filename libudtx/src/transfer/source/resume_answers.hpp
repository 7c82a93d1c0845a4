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
    /// `news`: whoever waits for something should look again. Before the disk task's first step.
    void call(std::function<void()> news) {
        const std::lock_guard lock(mutex_);
        news_ = std::move(news);
    }

    // --- protocol thread
    void decide(const message::Resume& resume);
    /// Any thread. Unless the receiver has spoken: nobody need ask, there is nothing.
    void presume_nothing();
    /// protocol: nobody asked, or there is more than any journal can say.
    [[nodiscard]] Result<void> add(const message::Answer& answer);
    /// Any thread: memory of answers that were not taken.
    [[nodiscard]] std::uint64_t held() const {
        const std::lock_guard lock(mutex_);
        return pieces_ * kPieceCost + open_.size() * sizeof(Slot);
    }
    /// Any thread. Nothing more is waited for.
    void cancel();

    // --- disk task
    /// Whether the receiver has something; nullopt: it has not said so yet.
    [[nodiscard]] std::optional<bool> decision() const;
    /// Once decided: files that are the same are to be announced, too.
    [[nodiscard]] bool announce_all() const;
    /// Number of the next query.
    [[nodiscard]] std::uint64_t ask();
    /// Or there will be no answer.
    [[nodiscard]] bool answered(std::uint64_t number) const;
    /// The answer to a query, once for each.
    [[nodiscard]] RemoteHolding take(std::uint64_t number);
    /// In place of that: whatever the answer is, nobody here goes by it.
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

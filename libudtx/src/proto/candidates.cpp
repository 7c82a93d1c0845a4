#include "proto/candidates.hpp"

#include <algorithm>

namespace udtx::proto {

Candidates::Candidates(std::vector<PathAddresses> all) : all_(std::move(all)) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
        all_[i].after = std::max(all_[i].after, static_cast<Duration::rep>(i) * kApart);
    }
    std::ranges::stable_sort(all_, {}, &PathAddresses::after);
}

void Candidates::add(PathAddresses candidate, Duration now) {
    const auto open = [this](const PathAddresses& one) { return !blocked(one); };
    const bool none = begun_ > 0 && std::ranges::none_of(std::span(all_).first(begun_), open);
    candidate.after = none ? now : std::max(candidate.after, now);
    const auto later =
        std::ranges::find_if(all_, [&candidate](const PathAddresses& one) { return one.after > candidate.after; });
    all_.insert(later, std::move(candidate));
}

std::optional<Duration> Candidates::next_begin() const {
    return begun_ < all_.size() ? std::optional(all_[begun_].after) : std::nullopt;
}

bool Candidates::begin(Duration now) {
    const std::size_t before = begun_;
    while (begun_ < all_.size() && all_[begun_].after <= now) ++begun_;
    if (begun_ == before) return false;
    turn_ = before == 0 ? begun_ - 1 : before - 1;  // so that those that are new are next
    due_ = begun_ - before;
    return true;
}

const PathAddresses* Candidates::next() {
    while (due_ > 0) {
        --due_;
        turn_ = (turn_ + 1) % begun_;
        if (!blocked(all_[turn_])) return &all_[turn_];
    }
    return nullptr;
}

bool Candidates::block(const Address& local, const Address& remote) {
    if (!blocked(local, remote)) blocked_.emplace_back(local, remote);
    const auto open = [this](const PathAddresses& one) { return !blocked(one); };
    if (std::ranges::none_of(all_, open)) return true;
    if (std::ranges::none_of(std::span(all_).first(begun_), open)) {
        const auto next = std::ranges::find_if(all_, open);
        if (next->after < kNever) (void)begin(next->after);
    }
    return false;
}

bool Candidates::blocked(const Address& local, const Address& remote) const {
    return std::ranges::find(blocked_, std::pair(local, remote)) != blocked_.end();
}

bool Candidates::blocked(const PathAddresses& one) const {
    return std::ranges::any_of(blocked_, [&](const auto& pair) { return one.matches(pair.first, pair.second); });
}

const PathAddresses* Candidates::came_by(const Address& local, const Address& remote) const {
    // The last one that was tried is the most likely one if several match.
    if (turn_ < all_.size() && all_[turn_].matches(local, remote)) return &all_[turn_];
    const auto found = std::ranges::find_if(all_, [&](const auto& one) { return one.matches(local, remote); });
    return found == all_.end() ? nullptr : &*found;
}

void Candidates::settle() noexcept {
    all_.clear();
    begun_ = due_ = turn_ = 0;
}

}  // namespace udtx::proto

#include "rendezvous/relay_limits.hpp"

#include <algorithm>

namespace udtx::apps {
namespace {

constexpr std::size_t kIpv6PrefixBytes = 8;
/// A bucket lets this much time's bytes pass at once, and at least some messages.
constexpr Duration kBurst = std::chrono::milliseconds(50);
constexpr double kLeastBurstBytes = 65'536.0;

}  // namespace

RateBucket::RateBucket(Rate rate) noexcept
    : rate_(rate), most_(rate.is_infinite() ? 0.0 : std::max(kLeastBurstBytes, rate.bytes_in(kBurst))), level_(most_) {}

Duration RateBucket::charge(Instant now, std::size_t bytes) noexcept {
    if (rate_.is_infinite()) return Duration::zero();
    if (last_ && now > *last_) level_ = std::min(most_, level_ + rate_.bytes_in(now - *last_));
    last_ = now;
    level_ -= static_cast<double>(bytes);
    return level_ < 0 ? rate_.time_for(static_cast<std::uint64_t>(-level_) + 1) : Duration::zero();
}

AddressGroup::AddressGroup(const Address& address) noexcept : address_(address) {
    address_.port = 0;
    address_.scope = 0;
    if (address_.family == Address::Family::v6) std::fill(address_.ip.begin() + kIpv6PrefixBytes, address_.ip.end(), 0);
}

void AddressTally::remove(const Address& address) {
    const auto found = counts_.find(AddressGroup(address));
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
}

std::size_t AddressTally::count(const Address& address) const {
    const auto found = counts_.find(AddressGroup(address));
    return found == counts_.end() ? 0 : found->second;
}

AttemptLimit::Attempts& AttemptLimit::attempts_of(Instant now, const Address& address) {
    const AddressGroup group(address);
    const auto found = known_.find(group);
    if (found != known_.end()) return found->second;
    if (known_.size() >= kMostAddresses) {
        std::erase_if(known_, [&](const auto& entry) { return now - entry.second.since >= period_; });
    }
    if (known_.size() >= kMostAddresses) return others_;
    return known_.emplace(group, Attempts{.since = now}).first->second;
}

bool AttemptLimit::allow(Instant now, const Address& address) {
    Attempts& attempts = attempts_of(now, address);
    if (now - attempts.since >= period_) attempts = {.since = now};
    if (attempts.count >= most_) return false;
    ++attempts.count;
    return true;
}

}  // namespace udtx::apps

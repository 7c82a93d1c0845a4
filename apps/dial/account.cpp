#include "dial/account.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace udtx::apps {
namespace {

/// Subtracts at most `amount` from `from`. Returns the part of `amount` that was not subtracted.
std::uint64_t take_from(std::uint64_t& from, std::uint64_t amount) {
    const std::uint64_t taken = std::min(from, amount);
    from -= taken;
    return amount - taken;
}

}  // namespace

transfer::Progress Account::whole(transfer::Progress now) const {
    if (!carried_) return now;
    const transfer::Progress& before = progress_;
    // The receiver had before.bytes_kept bytes before this command started. What it has beyond that came over an
    // earlier connection of this command. It may have written more than it confirmed before that connection was lost.
    const std::uint64_t kept = now.bytes_kept - std::min(now.bytes_kept, before.bytes_kept);
    const std::uint64_t again = std::min(kept, std::max(before.bytes_done, before.bytes_sent));
    now.bytes_done = std::max(before.bytes_done, again + now.bytes_done);
    now.bytes_sent = std::max(now.bytes_done, again + now.bytes_sent);
    now.bytes_kept = before.bytes_kept + (kept - again);
    // A connection's total includes the bytes that the receiver has until their file is complete.
    const std::uint64_t most = now.totals_final ? now.bytes_total + again : UINT64_MAX;
    const std::uint64_t known = before.totals_final ? 0 : now.bytes_total;
    now.bytes_total = std::max(now.bytes_done, std::min(most, std::max(before.bytes_total, known)));
    now.files_done = std::max(before.files_done, now.files_done);
    if (!now.totals_final) now.files_total = std::max(before.files_total, now.files_total);
    return now;
}

transfer::Outcome Account::whole(transfer::Outcome now) const {
    if (!carried_) return now;
    const transfer::Outcome& before = outcome_;
    const transfer::SentEarlier ours = std::exchange(now.sent_earlier, {});
    // Earlier connections delivered before.files files. This connection counts each of them as delivered, as unchanged,
    // or as skipped. Sent files are compared by name if names are known, otherwise only by their number.
    const std::uint64_t counted = std::min(before.files, std::max(ours.files, std::min(now.kept_files, now.files)));
    const std::uint64_t uncounted = before.files - counted;
    take_from(now.skipped, take_from(now.unchanged, uncounted + ours.stood_files + before.links));
    now.files = std::max(before.files, now.files + uncounted + ours.stood_files);
    now.links += before.links;
    // What an earlier connection made is unchanged for this one.
    const std::uint64_t made_before = before.directories - take_from(now.unchanged_directories, before.directories);
    now.directories = std::max(now.directories + made_before, before.directories);
    const std::uint64_t counted_bytes = std::max(ours.bytes, std::min(now.kept_file_bytes, now.bytes));
    now.bytes += before.bytes - std::min(before.bytes, counted_bytes) + ours.stood_bytes;
    now.bytes = std::max(before.bytes, now.bytes);
    now.erased += before.erased;
    // As in the progress: bytes of an earlier connection count as sent by this command, confirmed or not.
    const std::uint64_t kept = now.kept_bytes - std::min(now.kept_bytes, before.kept_bytes);
    const std::uint64_t again = std::min(kept, std::max(before.sent_bytes, progress_.bytes_sent));
    const bool by_count = uncounted > 0 && ours.files == 0;
    const std::uint64_t earlier = by_count ? std::max(again, before.sent_bytes) : again + ours.stood_data;
    now.sent_bytes = std::max(before.sent_bytes, earlier + now.sent_bytes);
    now.kept_bytes = before.kept_bytes + (kept - again);
    return now;
}

void Account::carry(const transfer::Progress& progress, const transfer::Outcome& outcome) {
    carried_ = true;
    progress_ = progress;
    outcome_ = outcome;
}

}  // namespace udtx::apps

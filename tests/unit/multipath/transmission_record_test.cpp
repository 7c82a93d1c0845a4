#include "multipath/transmission_record.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathId;
using udtx::Range;
using udtx::StreamKind;
using udtx::multipath::RecordRef;
using udtx::multipath::TransmissionRecord;

namespace {

constexpr PathId kFast{0};
constexpr PathId kSlow{1};

std::vector<std::uint64_t> open_offsets(const TransmissionRecord& record, PathId path, std::size_t most = 100) {
    std::vector<std::uint64_t> offsets;
    record.for_each_open(path, most, [&](RecordRef, const TransmissionRecord::Entry& entry) {
        offsets.push_back(entry.range.begin);
        return true;
    });
    return offsets;
}

}  // namespace

TEST_CASE("an ordered stream's entries stay until the receiver has all before their end") {
    TransmissionRecord record(StreamKind::ordered);
    const auto slow = record.on_assigned(Instant{1s}, kSlow, {0, 100}, false, 10ms);
    std::vector<RecordRef> fast;
    for (std::uint64_t i = 1; i <= 5; ++i)
        fast.push_back(record.on_assigned(Instant{2s}, kFast, {100 * i, 100 * i + 100}, false, 10ms));
    for (const auto& ref : fast) record.on_acked(ref);
    CHECK(record.outstanding(kFast) == 5);  // acknowledged, but waiting for the other path's bytes
    CHECK(open_offsets(record, kFast).empty());
    REQUIRE(record.head());
    CHECK(record.head()->ref == slow);
    CHECK(record.head()->entry.assigned == Instant{1s});
    record.on_data_acked(300);
    CHECK(record.outstanding(kSlow) == 0);
    CHECK(record.outstanding(kFast) == 3);
    record.on_data_acked(600);
    CHECK(record.outstanding(kFast) == 0);
    CHECK_FALSE(record.head());
}

TEST_CASE("an unordered stream's entries go when their own bytes have arrived") {
    TransmissionRecord record(StreamKind::unordered);
    const auto a = record.on_assigned(Instant{1s}, kSlow, {0, 100}, false, 10ms);
    const auto b = record.on_assigned(Instant{1s}, kSlow, {100, 200}, false, 10ms);
    record.on_acked(b);
    CHECK(open_offsets(record, kSlow) == std::vector<std::uint64_t>{0});
    record.on_acked(a);
    CHECK(record.outstanding(kSlow) == 0);
    record.on_acked(a);  // acknowledged twice
    record.on_copied(Instant{1s}, a, 100);
    CHECK(record.outstanding(kSlow) == 0);
}

TEST_CASE("lost bytes leave their path, and are found when they were given to another") {
    TransmissionRecord record(StreamKind::ordered);
    const auto lost = record.on_assigned(Instant{1s}, kSlow, {0, 100}, false, 10ms);
    (void)record.on_assigned(Instant{1s}, kFast, {100, 200}, false, 10ms);
    record.on_lost(lost);
    CHECK(record.outstanding(kSlow) == 0);
    const auto again = record.on_assigned(Instant{2s}, kFast, {0, 100}, true, 10ms);
    CHECK(record.head()->ref == again);
    CHECK(open_offsets(record, kFast) == std::vector<std::uint64_t>{0, 100});
}

TEST_CASE("the record of a path is bounded") {
    TransmissionRecord record(StreamKind::unordered);
    const auto first = record.on_assigned(Instant{}, kFast, {0, 1}, false, 10ms);
    for (std::uint64_t i = 1; i <= TransmissionRecord::kMaxEntries; ++i) {
        (void)record.on_assigned(Instant{}, kFast, {i, i + 1}, false, 10ms);
    }
    CHECK(record.outstanding(kFast) == TransmissionRecord::kMaxEntries);
    record.on_acked(first);  // no longer recorded
    CHECK(open_offsets(record, kFast, 2) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("the walk over open entries ends as soon as the caller has found one, also among lost bytes") {
    TransmissionRecord record(StreamKind::ordered);
    record.on_lost(record.on_assigned(Instant{1s}, kSlow, {0, 100}, false, 10ms));
    (void)record.on_assigned(Instant{2s}, kFast, {0, 100}, true, 10ms);
    (void)record.on_assigned(Instant{2s}, kFast, {100, 200}, false, 10ms);
    std::vector<std::uint64_t> seen;
    record.for_each_open(kFast, 100, [&](RecordRef, const TransmissionRecord::Entry& entry) {
        seen.push_back(entry.range.begin);
        return false;
    });
    CHECK(seen == std::vector<std::uint64_t>{0});
}

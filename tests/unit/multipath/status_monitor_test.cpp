#include "multipath/transmission_record.hpp"

#include <array>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathId;
using udtx::StreamKind;
using udtx::multipath::StatusMonitor;
using udtx::multipath::TransmissionRecord;
using udtx::multipath::test::kDatagram;
using udtx::multipath::test::view;

namespace {

// Assigns ten datagrams at a time to a path. Path 1 delivers nothing, so path 0's datagrams wait for those of path 1.
struct Rig {
    TransmissionRecord record{StreamKind::ordered};
    StatusMonitor monitor;
    std::array<udtx::PathView, 2> paths{view(0, 10, 10ms), view(1, 10, 10ms)};
    std::uint64_t offset = 0;
    Instant now{1h};

    Rig() {
        for (auto& path : paths) path.in_flight = 10 * kDatagram;
    }
    void round(PathId path, bool acked) {
        for (int i = 0; i < 10; ++i, offset += kDatagram) {
            const auto ref = record.on_assigned(now, path, {offset, offset + kDatagram}, false, 10ms);
            if (acked) record.on_acked(ref);
        }
        now += 10ms;
        monitor.update(now, offset, record, paths);
    }
};

}  // namespace

TEST_CASE("TransmitTimes of the healthy path raises the alarm, the owner of the head is the culprit") {
    Rig rig;
    rig.round(PathId{1}, false);
    for (int i = 0; i < 3; ++i) {
        rig.round(PathId{0}, true);
        CHECK_FALSE(rig.monitor.culprit());
    }
    CHECK(rig.monitor.transmit_times(PathId{0}) == Approx(3.0));
    rig.round(PathId{0}, true);
    CHECK(rig.monitor.transmit_times(PathId{0}) == Approx(4.0));
    CHECK(rig.monitor.transmit_times(PathId{1}) == Approx(1.0));
    CHECK(rig.monitor.culprit() == PathId{1});

    // The alarm ends when the value is below half the threshold.
    rig.record.on_data_acked(rig.offset - 16 * kDatagram);
    rig.monitor.update(rig.now, 16 * kDatagram, rig.record, rig.paths);
    CHECK(rig.monitor.culprit());
    rig.record.on_data_acked(rig.offset - 14 * kDatagram);
    rig.monitor.update(rig.now, 14 * kDatagram, rig.record, rig.paths);
    CHECK_FALSE(rig.monitor.culprit());
}

TEST_CASE("a send buffer below its mean is no reason for suspicion") {
    Rig rig;
    rig.monitor.update(rig.now, 1U << 30U, rig.record, rig.paths);
    rig.round(PathId{1}, false);
    for (int i = 0; i < 10; ++i) rig.round(PathId{0}, true);
    CHECK(rig.monitor.transmit_times(PathId{0}) > 5.0);
    CHECK_FALSE(rig.monitor.culprit());
}

TEST_CASE("the threshold follows the ratio of the base RTTs from 3 to 10") {
    Rig rig;
    const auto threshold = [&rig](udtx::Duration base) {
        rig.paths[1].min_rtt = base;
        rig.monitor.update(rig.now, 0, rig.record, rig.paths);
        return rig.monitor.threshold();
    };
    CHECK(threshold(10ms) == Approx(3.0));
    CHECK(threshold(20ms) == Approx(6.0));
    CHECK(threshold(5ms) == Approx(6.0));
    CHECK(threshold(200ms) == Approx(10.0));
    CHECK(threshold(0ms) == Approx(3.0));  // RTT not measured
}

TEST_CASE("MaxCwnd is the largest in flight of ten seconds") {
    Rig rig;
    for (int i = 0; i < 4; ++i) rig.round(PathId{0}, false);
    rig.paths[0].in_flight = 2 * kDatagram;
    rig.now += 5s;
    rig.monitor.update(rig.now, 0, rig.record, rig.paths);
    CHECK(rig.monitor.transmit_times(PathId{0}) == Approx(4.0));
    rig.now += 7s;
    rig.monitor.update(rig.now, 0, rig.record, rig.paths);
    CHECK(rig.monitor.transmit_times(PathId{0}) == Approx(20.0));
}

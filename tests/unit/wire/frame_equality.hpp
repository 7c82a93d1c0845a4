// Compares frames, for the unit tests and the fuzz targets.
#pragma once

#include <algorithm>
#include <type_traits>
#include <variant>
#include <vector>

#include "wire/frame.hpp"

namespace udtx::wire {

inline bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

inline bool same(const AckFrame& a, const AckFrame& b) {
    return a.path == b.path && a.delay_us == b.delay_us &&
           std::equal(a.view().begin(), a.view().end(), b.view().begin(), b.view().end()) &&
           std::equal(a.arrival_view().begin(), a.arrival_view().end(), b.arrival_view().begin(),
                      b.arrival_view().end());
}

struct SameFrame {
    bool operator()(const PaddingFrame& a, const PaddingFrame& b) const { return a.length == b.length; }
    bool operator()(const PingFrame&, const PingFrame&) const { return true; }
    bool operator()(const AckFrameView& a, const AckFrameView& b) const { return same(*a.frame, *b.frame); }
    bool operator()(const CryptoFrame& a, const CryptoFrame& b) const {
        return a.offset == b.offset && same(a.data, b.data);
    }
    bool operator()(const StreamFrame& a, const StreamFrame& b) const {
        return a.id == b.id && a.offset == b.offset && a.fin == b.fin && same(a.data, b.data);
    }
    bool operator()(const MaxDataFrame& a, const MaxDataFrame& b) const { return a.limit == b.limit; }
    bool operator()(const MaxStreamDataFrame& a, const MaxStreamDataFrame& b) const {
        return a.id == b.id && a.limit == b.limit;
    }
    bool operator()(const MaxStreamsFrame& a, const MaxStreamsFrame& b) const { return a.limit == b.limit; }
    bool operator()(const ResetStreamFrame& a, const ResetStreamFrame& b) const {
        return a.id == b.id && a.code == b.code && a.final_size == b.final_size;
    }
    bool operator()(const StopSendingFrame& a, const StopSendingFrame& b) const {
        return a.id == b.id && a.code == b.code;
    }
    bool operator()(const RateFeedbackFrame& a, const RateFeedbackFrame& b) const {
        return a.path == b.path && a.arrival_pps == b.arrival_pps && a.capacity_pps == b.capacity_pps &&
               a.pair_gap_ns == b.pair_gap_ns && a.pair_bytes == b.pair_bytes && a.line_pps == b.line_pps &&
               a.line_error == b.line_error && a.granularity_us == b.granularity_us &&
               a.receive_time_us == b.receive_time_us;
    }
    bool operator()(const PathChallengeFrame& a, const PathChallengeFrame& b) const { return a.data == b.data; }
    bool operator()(const PathResponseFrame& a, const PathResponseFrame& b) const { return a.data == b.data; }
    bool operator()(const HandshakeDoneFrame&, const HandshakeDoneFrame&) const { return true; }
    bool operator()(const CloseFrame& a, const CloseFrame& b) const {
        return a.code == b.code && a.application == b.application && a.reason == b.reason;
    }
    bool operator()(const PathStatusFrame& a, const PathStatusFrame& b) const {
        return a.path == b.path && a.status == b.status && a.sequence == b.sequence && a.weight == b.weight;
    }
    bool operator()(const PathAbandonFrame& a, const PathAbandonFrame& b) const {
        return a.path == b.path && a.code == b.code;
    }
    bool operator()(const EcnFrame& a, const EcnFrame& b) const {
        return a.path == b.path && a.ect0 == b.ect0 && a.ect1 == b.ect1 && a.ce == b.ce;
    }
    bool operator()(const ExtensionFrame& a, const ExtensionFrame& b) const {
        return a.type == b.type && same(a.data, b.data);
    }
    template <class A, class B>
    requires(!std::is_same_v<A, B>) bool operator()(const A&, const B&) const { return false; }
};

inline bool same(const Frame& a, const Frame& b) { return std::visit(SameFrame{}, a, b); }

}  // namespace udtx::wire

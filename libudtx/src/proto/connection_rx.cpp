// Processing of received datagrams.
#include <algorithm>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>
#include <variant>

#include "crypto/bytes.hpp"
#include "proto/close_reason.hpp"
#include "proto/connection_impl.hpp"
#include "wire/frame.hpp"

namespace udtx::proto {

namespace {

/// The versions of a server, in the body of its version negotiation.
std::vector<std::uint32_t> listed_versions(std::span<const std::byte> body) {
    std::vector<std::uint32_t> versions;
    wire::Reader in(body);
    for (auto version = in.u32(); version; version = in.u32()) versions.push_back(*version);
    return versions;
}

Error no_common_version(const std::vector<std::uint32_t>& theirs) {
    std::string numbers;
    for (const std::uint32_t version : theirs) {
        if (const auto number = wire::number_of(version))
            numbers += (numbers.empty() ? "" : ", ") + std::to_string(*number);
    }
    if (numbers.empty()) return {ErrorCode::protocol, "the peer speaks no version of the wire format of udtx"};
    return {ErrorCode::protocol, "the peer speaks version " + numbers + " of the wire format, and this end version " +
                                     std::to_string(*wire::number_of(wire::kVersion)) + ": update the older end"};
}

}  // namespace

void Connection::Impl::handle_datagram(Instant now, const RxDatagram& datagram) {
    if (drained()) return;
    touch();
    if (life_ == Life::failing) return give_up(now, std::bad_alloc());
    if (wire::is_long_header(datagram.data)) {
        on_long_packet(now, datagram);
    } else if (keys_) {
        on_short_packet(now, datagram);
    }
}

void Connection::Impl::on_long_packet(Instant now, const RxDatagram& datagram) {
    const auto header = wire::parse_long_header(datagram.data);
    if (!header || over()) return;
    if (header->type == wire::LongType::retry) {
        handshake_.on_retry(*header, datagram.data);
        settle_first_path(datagram);
        return;
    }
    if (header->type == wire::LongType::version_negotiation) {
        on_version_negotiation(now, listed_versions(datagram.data.subspan(header->header_bytes)));
        return;
    }
    const auto authentic = handshake_.on_packet(now, *header, datagram.data);
    if (!authentic) {
        fail(now, authentic.error());
        return;
    }
    if (!*authentic) return;
    last_received_ = now;
    settle_first_path(datagram);
    answer_there(datagram, header->type);
    PathContext& p = paths_.first();
    if (p.local.family == Address::Family::none) p.local = datagram.local;
    if (handshake_.closed_by_peer() && !keys_) {
        end(*handshake_.closed_by_peer());
        return;
    }
    if (!keys_ && handshake_.complete()) {
        if (const auto ok = establish(now); !ok) fail(now, ok.error());
    }
}

/// A list with the version in use answers a packet that was damaged on the way (RFC 9000, section 6.2).
void Connection::Impl::on_version_negotiation(Instant now, const std::vector<std::uint32_t>& theirs) {
    if (setup_.role != Role::client || handshake_.heard()) return;
    if (std::ranges::find(theirs, handshake_.version()) != theirs.end()) return;
    const auto common = best_common_version(theirs);
    if (!common) return fail(now, no_common_version(theirs));
    handshake_.change_version(*common);
}

Result<void> Connection::Impl::establish(Instant now) {
    const auto peer = decode_parameters(handshake_.tls().peer_parameters());
    if (!peer) return peer.error();
    peer_ = *peer;
    // Version negotiation is not protected, so somebody on the path can ask for an older version (RFC 9368, section 4).
    if (!peer_.versions.empty() && best_common_version(peer_.versions) != handshake_.version()) {
        return Error{ErrorCode::protocol, "something on the path has changed the version of the wire format"};
    }
    const auto key = handshake_.tls().peer_key();
    peer_key_.assign(key.begin(), key.end());
    if (peer_.receive_rate > 0) {
        set_cap(peer_rate_, Rate::bits_per_second(static_cast<double>(peer_.receive_rate)));
    }
    const auto cipher = setup_.role == Role::server ? choose_cipher(own_parameters(), peer_)
                                                    : Result<crypto::Cipher>(static_cast<crypto::Cipher>(peer_.cipher));
    if (!cipher) return cipher.error();
    if (*cipher != crypto::Cipher::aes_256_gcm && *cipher != crypto::Cipher::chacha20_poly1305) {
        return Error{ErrorCode::protocol, "the peer chose an unknown cipher"};
    }
    cipher_ = *cipher;
    auto secret = handshake_.tls().export_secret(crypto::kPacketKeysLabel);
    if (!secret) return secret.error();
    keys_.emplace(*deps_.provider, cipher_, setup_.role, *secret, deps_.packet_threads);
    crypto::wipe(std::as_writable_bytes(std::span(*secret)));
    streams_.set_peer_limits(peer_);
    fit_size(paths_.first(), handshake_.datagram_bytes() < wire::kMinInitialDatagram);
    paths_.first().acks.pace().on_handshake(now - started_);
    life_.enter(Life::established);
    const PathOptions& wanted = paths_.first().options;
    // A peer that supports only one path would not understand PATH_STATUS.
    paths_.first().status_due = max_paths() > 1 && (wanted.standby || wanted.weight != 1.0);
    last_received_ = now;
    if (lacks_plug_in_) return *lacks_plug_in_;  // only now there are keys that authenticate the error to the client
    events_.push_back(event::Connected{});
    if (setup_.role == Role::server) {
        handshake_done_due_ = true;
        handshake_.discard();
    }
    return {};
}

void Connection::Impl::on_short_packet(Instant now, const RxDatagram& datagram) {
    const auto header = wire::parse_short_header(datagram.data);
    if (!header || datagram.data.size() < wire::kShortHeaderBytes + wire::kTagBytes) return;
    PathContext* p = paths_.find(header->path);
    if (p == nullptr) {
        const bool may_open = setup_.role == Role::server && connected() && !paths_.was_used(header->path) &&
                              paths_.count() < std::max(config_.max_paths, 1U);
        if (!may_open) return;
    }
    const PacketNumber expected =
        p != nullptr && p->acks.largest() ? *p->acks.largest() + 1 : setup_.experiment.first_number;
    const PacketNumber number =
        datagram.opened ? datagram.opened->number : wire::expand_packet_number(header->packet_number, expected);
    if (p != nullptr && !p->replay.check(number)) {
        ++duplicate_packets_;
        return;
    }
    bool authentic = false;
    if (datagram.opened) {
        authentic = datagram.opened->authentic;
        keys_->note_opened(*datagram.opened->key, header->path, number, authentic);
    } else {
        authentic = keys_->open(header->path, number, header->key_phase, datagram.data, wire::kShortHeaderBytes);
    }
    if (!authentic) {
        ++undecryptable_packets_;
        if (keys_->forgery_limit_reached()) fail(now, {ErrorCode::protocol, "too many forged packets"});
        return;
    }
    if (p == nullptr) p = &open_path(now, header->path, datagram.local, datagram.remote);
    on_opened(now, *p, datagram, *header, number);
    leave_closed(now);
}

std::optional<Opening> Connection::Impl::opening_of(const wire::ShortHeader& header) {
    const PathContext* const p = keys_ ? paths_.find(header.path) : nullptr;
    if (p == nullptr || !p->acks.largest()) return std::nullopt;
    auto key = keys_->receive_key(header.key_phase);
    if (key == nullptr) return std::nullopt;
    return Opening{.destination = setup_.local,
                   .path = header.path,
                   .key_phase = header.key_phase,
                   .key = std::move(key),
                   .expected = *p->acks.largest() + 1};
}

/// The packet is authentic, and its payload is decrypted.
void Connection::Impl::on_opened(Instant now, PathContext& p, const RxDatagram& datagram,
                                 const wire::ShortHeader& header, PacketNumber number) {
    p.replay.mark(number);
    if (now >= idle_deadline()) {
        // This process did not run. The peer may have given up meanwhile.
        for (const auto& path : paths_.all()) doubt(now, *path, std::nullopt);
    }
    last_received_ = now;
    p.last_received = now;
    ease_doubt(now, p);
    ++p.figures.received_packets;
    p.figures.received_bytes += datagram.data.size();
    const std::size_t end = datagram.data.size() - wire::kTagBytes;
    const auto payload =
        std::span<const std::byte>(datagram.data).subspan(wire::kShortHeaderBytes, end - wire::kShortHeaderBytes);
    if (over()) {
        if (life_ == Life::closing) on_close_answered(payload);
        return;
    }
    if (datagram.ecn != Ecn::not_ect)
        p.ecn_receipts.count(datagram.ecn, std::max(number, p.acks.largest().value_or(0)));
    const bool newest = !p.acks.largest() || number > *p.acks.largest();
    if (p.local.family == Address::Family::none) p.local = datagram.local;
    // The peer uses another address, or it opens a path. Until that path is validated, its address is that of its
    // newest packet.
    if (newest && (datagram.remote != p.remote || p.state == PathState::probing)) {
        if (p.state == PathState::probing && setup_.role == Role::server) {
            p.local = datagram.local;
            p.remote = datagram.remote;
        }
        p.validator.on_packet_from(now, datagram.local, datagram.remote, datagram.data.size(), deps_.rng->next_u64());
    }

    const Instant arrival = std::min(now, datagram.received.value_or(now));
    p.line_meter.on_arrival(
        {arrival, number, static_cast<std::uint32_t>(datagram.data.size()), header.pair_second, datagram.coalesced});
    bool eliciting = false;
    if (const auto ok = on_payload(now, p, payload, eliciting); !ok) {
        fail(now, ok.error());
        return;
    }
    p.acks.on_received(arrival, number, eliciting);
    if (now >= round_ends_) follow_line(now);
    if (p.recovery.overgrown()) fail(now, {ErrorCode::protocol, "the peer sends but acknowledges nothing"});
}

/// Once per round trip of the slowest path: windows grow with what it delivers, and shrink.
void Connection::Impl::follow_line(Instant now) {
    // On a short path, this interval makes the cost negligible.
    constexpr Duration kLeastRound = std::chrono::milliseconds(10);
    Duration longest{};
    for (const auto& path : paths_.all()) {
        if (path->recovery.rtt().has_sample()) longest = std::max(longest, path->recovery.rtt().smoothed());
    }
    const Duration passed = now - round_began_;
    if (setup_.window_memory && longest > Duration::zero() && passed > Duration::zero()) {
        const double share = std::min(1.0, to_seconds(longest) / to_seconds(passed));
        const std::uint64_t grown = streams_.on_round_trip(share, setup_.window_memory->available(grown_));
        setup_.window_memory->change(std::exchange(grown_, grown), grown);
    }
    round_began_ = now;
    round_ends_ = now + std::max(longest, kLeastRound);
}

/// Handles the peer's CLOSE, either the answer to ours or its own. Then both ends know of the end.
void Connection::Impl::on_close_answered(std::span<const std::byte> payload) {
    wire::Reader in(payload);
    while (!in.empty()) {
        const auto frame = wire::read_frame(in, ack_scratch_);
        if (!frame) return;
        if (std::holds_alternative<wire::CloseFrame>(*frame)) return life_.enter(Life::drained);
    }
}

Result<void> Connection::Impl::on_payload(Instant now, PathContext& p, std::span<const std::byte> payload,
                                          bool& eliciting) {
    wire::Reader in(payload);
    Told told;  // kept until the ACK that it belongs to
    if (in.empty()) return Error{ErrorCode::protocol, "packet without frames"};
    while (!in.empty()) {
        const auto frame = wire::read_frame(in, ack_scratch_);
        if (!frame) return frame.error();
        const bool quiet =
            std::holds_alternative<wire::AckFrameView>(*frame) ||
            std::holds_alternative<wire::RateFeedbackFrame>(*frame) || std::holds_alternative<wire::EcnFrame>(*frame) ||
            std::holds_alternative<wire::PaddingFrame>(*frame) || std::holds_alternative<wire::CloseFrame>(*frame);
        eliciting = eliciting || !quiet;
        if (const auto ok = on_frame(now, p, *frame, told); !ok) return ok;
        if (over()) return {};
    }
    return {};
}

Result<void> Connection::Impl::on_frame(Instant now, PathContext& p, const wire::Frame& frame, Told& told) {
    const auto handle = [&]<class Frame>(const Frame& f) -> Result<void> {
        if constexpr (std::is_same_v<Frame, wire::AckFrameView>) {
            return on_ack(now, p, *f.frame, std::exchange(told, {}));
        } else if constexpr (std::is_same_v<Frame, wire::CryptoFrame>) {
            return Error{ErrorCode::protocol, "handshake bytes after the handshake"};
        } else if constexpr (std::is_same_v<Frame, wire::StreamFrame>) {
            return streams_.on_stream(f);
        } else if constexpr (std::is_same_v<Frame, wire::MaxDataFrame>) {
            streams_.on_max_data(f.limit);
        } else if constexpr (std::is_same_v<Frame, wire::MaxStreamDataFrame>) {
            return streams_.on_max_stream_data(f);
        } else if constexpr (std::is_same_v<Frame, wire::MaxStreamsFrame>) {
            streams_.on_max_streams(f.limit);
        } else if constexpr (std::is_same_v<Frame, wire::ResetStreamFrame>) {
            return streams_.on_reset(f);
        } else if constexpr (std::is_same_v<Frame, wire::StopSendingFrame>) {
            return streams_.on_stop(f);
        } else if constexpr (std::is_same_v<Frame, wire::RateFeedbackFrame>) {
            told.rates = f;
        } else if constexpr (std::is_same_v<Frame, wire::EcnFrame>) {
            told.marks = f;
        } else if constexpr (std::is_same_v<Frame, wire::PathChallengeFrame>) {
            p.response_due = f.data;
        } else if constexpr (std::is_same_v<Frame, wire::PathResponseFrame>) {
            on_path_response(now, p, f.data);
        } else if constexpr (std::is_same_v<Frame, wire::HandshakeDoneFrame>) {
            if (setup_.role == Role::server) return Error{ErrorCode::protocol, "HANDSHAKE_DONE from a client"};
            handshake_.discard();
        } else if constexpr (std::is_same_v<Frame, wire::PathStatusFrame>) {
            on_path_status(f);
        } else if constexpr (std::is_same_v<Frame, wire::PathAbandonFrame>) {
            return on_path_abandon(f);
        } else if constexpr (std::is_same_v<Frame, wire::CloseFrame>) {
            answer_close(now, close_reason_from_peer(f));
        } else {
            static_assert(std::is_same_v<Frame, wire::PaddingFrame> || std::is_same_v<Frame, wire::PingFrame> ||
                          std::is_same_v<Frame, wire::ExtensionFrame>);
        }
        return {};
    };
    return std::visit(handle, frame);
}

void Connection::Impl::on_path_response(Instant now, PathContext& p, std::uint64_t value) {
    if (!p.validator.on_response(value)) return;
    const bool narrow = p.validator.was_small(value);
    if (p.state == PathState::probing) {
        if (narrow && !p.carried()) fit_size(p, true);
        activate(now, p);
        return;
    }
    const Address from = p.remote;
    const bool host_moved = from.ip != p.validator.remote().ip || from.family != p.validator.remote().family;
    p.remote = p.validator.remote();
    p.local = p.validator.local();
    p.validator.clear();
    if (host_moved) {
        // The network is another one: measurements of the old one say nothing (RFC 9000, section 9.4).
        p.recovery.reset_rtt();
        p.acks.pace() = {};
        fit_size(p, narrow);
        p.ecn.restart(p.recovery.next_number());
        give_controller(p);
        if (lacks_plug_in_) return fail(now, *lacks_plug_in_);
        share_rates();
    }
    events_.push_back(event::PeerMoved{p.id, from, p.remote});
}

// Processing of ACKs: what they mean to streams, congestion control and the search for the datagram size.

Result<void> Connection::Impl::on_ack(Instant now, const PathContext& via, const wire::AckFrame& frame,
                                      const Told& told) {
    PathContext* p = paths_.find(frame.path);
    if (p == nullptr && paths_.was_used(frame.path)) return {};
    if (p == nullptr) return Error{ErrorCode::protocol, "acknowledgement for a path that does not exist"};
    outcome_.clear();
    const Duration delay = std::min<Duration>(
        std::chrono::microseconds(std::min<std::uint64_t>(frame.delay_us, 1000000)), std::chrono::seconds(1));
    const auto largest_before = p->recovery.largest_acked();
    const auto ok = p->recovery.on_ack(now, frame, delay, outcome_);
    if (!ok) return ok;
    // An ACK that was overtaken has old counts (RFC 9000, section 13.4.2.1).
    if (p->ecn.works() && p->recovery.largest_acked() > largest_before)
        take_counts(*p, told.marks && told.marks->path == p->id ? told.marks : std::nullopt);
    keys_->on_acked(p->id, frame.largest());
    const auto largest = [](std::uint32_t most, const recovery::SentPacket& packet) {
        return std::max(most, packet.ack_eliciting ? packet.bytes : 0U);
    };
    const std::uint32_t proven =
        p->state == PathState::suspended
            ? std::accumulate(outcome_.acked.begin(), outcome_.acked.end(), std::uint32_t{0}, largest)
            : 0U;
    const bool alive = outcome_.proves_alive;
    if (alive && p->state == PathState::active) p->recovery.end_timeout();
    apply_outcome(now, *p, false, told.rates && told.rates->path == p->id ? &*told.rates : nullptr);
    // Only an ACK that arrives on the path itself shows that the path works in both directions.
    const bool own = via.id == p->id || !setup_.experiment.silent_path_rule;
    if (alive && own && p->state == PathState::suspended) revive(now, *p, proven);
    return {};
}

void Connection::Impl::take_counts(PathContext& p, const std::optional<wire::EcnFrame>& told) {
    const auto marked = std::ranges::count_if(outcome_.acked, &recovery::SentPacket::ecn_marked);
    std::optional<recovery::EcnCounts> counts;
    if (told) counts = {.ect0 = told->ect0, .ect1 = told->ect1, .ce = told->ce};
    outcome_.ce_packets = p.ecn.on_ack(counts, static_cast<std::uint64_t>(marked));
}

void Connection::Impl::take_acked(Instant now, PathContext& p) {
    for (const auto& packet : outcome_.acked) {
        congestion_feedback_.largest_acked = packet.number;
        if (packet.mtu_probe) {
            p.mtu.on_probe_acked(now, packet.bytes);
        } else if (packet.in_flight) {
            p.mtu.on_acked(now, packet.number, packet.bytes);
        }
        if (has(packet.control, recovery::Control::ack)) {
            p.acks.on_ack_acknowledged(packet.ack_largest);
            p.ecn_receipts.on_ack_acknowledged(packet.ack_largest);
        }
        for (std::size_t i = 0; i < packet.range_count; ++i) p.figures.delivered_bytes += packet.ranges[i].length;
        streams_.on_acked(packet);
        watch_.on_acked(packet, streams_);
    }
}

/// Queues the contents of the packet for sending again, on any path.
void Connection::Impl::send_again(const recovery::SentPacket& packet) {
    streams_.on_lost(packet);
    watch_.on_lost(packet);
    if (has(packet.control, recovery::Control::handshake_done)) handshake_done_due_ = true;
    if (has(packet.control, recovery::Control::path_status)) {
        if (PathContext* p = paths_.find(packet.control_path)) p->status_due = true;
    }
    if (has(packet.control, recovery::Control::path_abandon)) abandons_due_.push_back({packet.control_path, 0});
}

void Connection::Impl::take_lost(Instant now, PathContext& p) {
    for (const auto& packet : outcome_.lost) {
        if (packet.mtu_probe) {
            p.mtu.on_probe_lost(now, packet.bytes);
            if (packet.control != recovery::Control::none) send_again(packet);
            continue;
        }
        ++p.figures.lost_packets;
        if (packet.ecn_marked && p.ecn.on_lost(packet.number)) {
            send_again(packet);
            continue;
        }
        p.mtu.on_lost(packet.sent, packet.number, packet.bytes, p.recovery.probe_timeout());
        congestion_feedback_.lost.push_back({packet.number, packet.bytes, packet.sent});
        send_again(packet);
    }
}

/// The counts do not say which packets were marked. RFC 9002, section 7.1, takes the newest. But here an ACK covers up
/// to 10 ms, and packets sent before and after a reaction: the marks of one queue would count as two events. So the
/// oldest stand for them.
void Connection::Impl::take_marked() {
    auto& lost = congestion_feedback_.lost;
    std::uint64_t left = outcome_.ce_packets;
    for (auto packet = outcome_.acked.begin(); left > 0 && packet != outcome_.acked.end(); ++packet) {
        if (!packet->ecn_marked) continue;
        lost.push_back({.number = packet->number, .bytes = packet->bytes, .sent = packet->sent, .marked = true});
        --left;
    }
    std::ranges::sort(lost, {}, &CongestionLost::number);
}

void Connection::Impl::take_report(Instant now, PathContext& p, const wire::RateFeedbackFrame& report) {
    CongestionFeedback& fb = congestion_feedback_;
    fb.line = p.line_estimator.on_report(now, report, p.line_probes.departures());
    const Duration largest_time = std::chrono::microseconds(report.receive_time_us);
    for (ArrivalSample sample : outcome_.arrivals) {
        sample.delay += largest_time;
        fb.arrivals.push_back(sample);
    }
    if (outcome_.largest_newly_acked) fb.one_way_delay = Instant(largest_time) - outcome_.largest_sent_time;
}

namespace {

// A pause of the sender stretches one ACK, a narrow return path all of them. So the smaller of two spans counts.
void note_span(PathContext& p, const CongestionFeedback& fb) {
    if (fb.acked_packets > 0) p.ack_interval.add(std::min(fb.acked_span, std::exchange(p.acked_span, fb.acked_span)));
}

Duration ack_spacing(const PathContext& p) {
    return p.ack_interval.sparse() ? from_seconds(p.ack_interval.mean()) : Duration();
}

}  // namespace

/// Holds back from the controller a part of an ACK that stands for many. A loss ends the search for the window, so then
/// everything is reported at once.
void Connection::Impl::keep_back(Instant now, PathContext& p) {
    CongestionFeedback& fb = congestion_feedback_;
    const auto largest = p.recovery.largest_acked();
    if (!largest) return;
    const bool stretched = fb.ack_spacing > Duration::zero() && fb.lost.empty();
    const auto told = p.stretch_acks->on_ack(now, *largest, {fb.acked_bytes, fb.acked_packets}, stretched);
    fb.acked_bytes = told.bytes;
    fb.acked_packets = told.packets;
    if (outcome_.acked.empty()) fb.largest_acked = *largest;  // a timeout reports what was held back
    fb.largest_acked -= std::min<PacketNumber>(fb.largest_acked, p.stretch_acks->kept_back().packets);
}

void Connection::Impl::tell_kept_back(Instant now, PathContext& p) {
    if (!p.stretch_acks || p.stretch_acks->deadline().value_or(Instant::max()) > now) return;
    const auto largest = p.recovery.largest_acked();
    CongestionFeedback fb;
    fb.now = now;
    fb.in_flight_before = p.in_flight();
    const auto told = p.stretch_acks->take_due(now);
    fb.acked_bytes = told.bytes;
    fb.acked_packets = told.packets;
    fb.largest_acked = *largest - std::min<PacketNumber>(*largest, p.stretch_acks->kept_back().packets);
    fb.ack_spacing = ack_spacing(p);
    fb.rtt_sample = p.recovery.rtt().latest();
    describe(p, fb);
    p.congestion->on_feedback(fb);
}

/// Fills in the present state of the path.
void Connection::Impl::describe(const PathContext& p, CongestionFeedback& fb) const {
    fb.largest_sent = p.recovery.next_number() == 0 ? 0 : p.recovery.next_number() - 1;
    fb.in_flight_after = p.in_flight();
    fb.smoothed_rtt = p.recovery.rtt().smoothed();
    fb.rtt_variance = p.recovery.rtt().variance();
    fb.min_rtt = p.recovery.rtt().minimum();
    fb.free_window = streams_.free_window();
}

void Connection::Impl::apply_outcome(Instant now, PathContext& p, bool timeout, const wire::RateFeedbackFrame* report) {
    CongestionFeedback& fb = congestion_feedback_;
    std::vector<CongestionLost> lost = std::move(fb.lost);  // keep the capacity
    std::vector<ArrivalSample> arrivals = std::move(fb.arrivals);
    lost.clear();
    arrivals.clear();
    fb = CongestionFeedback{};
    fb.lost = std::move(lost);
    fb.arrivals = std::move(arrivals);
    fb.now = now;
    const std::uint32_t datagram_bytes = p.mtu.current();
    take_acked(now, p);
    take_lost(now, p);
    if (outcome_.ce_packets > 0) take_marked();
    if (p.mtu.current() != datagram_bytes) p.tell_datagram_size();
    p.figures.spurious_losses += outcome_.spurious;
    fb.in_flight_before = outcome_.in_flight_before + (p.in_flight() - p.recovery.in_flight());
    fb.acked_bytes = outcome_.acked_bytes;
    fb.acked_packets = outcome_.acked_packets;
    fb.acked_span = outcome_.acked_span;
    if (p.stretch_acks) {
        note_span(p, fb);
        fb.ack_spacing = ack_spacing(p);
        if (!timeout) keep_back(now, p);
    }
    fb.rtt_sample = outcome_.rtt_sample;
    fb.delivery = outcome_.delivery;
    describe(p, fb);
    fb.application_limited = outcome_.delivery && outcome_.delivery->application_limited;
    fb.persistent_timeout = timeout;
    if (report != nullptr) take_report(now, p, *report);
    p.acks.pace().on_fate({.now = now,
                           .sent = outcome_.largest_sent_time,
                           .delay = fb.one_way_delay,
                           .packets = outcome_.quiet_acked,
                           .bytes = outcome_.quiet_bytes,
                           .lost = outcome_.quiet_lost});
    p.congestion->on_feedback(fb);
    if (outcome_.acked_bytes > 0) p.probes = 0;
}

}  // namespace udtx::proto

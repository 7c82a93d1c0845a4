// The parts of a connection, which the connection*.cpp files share.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "congestion/coupling.hpp"
#include "crypto/packet_protection.hpp"
#include "proto/candidates.hpp"
#include "proto/close_reason.hpp"
#include "proto/experiment.hpp"
#include "proto/handshake_layer.hpp"
#include "proto/path_context.hpp"
#include "proto/stream_table.hpp"
#include "proto/stream_watch.hpp"
#include "proto/transport_parameters.hpp"
#include "proto/window_memory.hpp"
#include "udtx/config.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/core/datagram.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/rate.hpp"
#include "udtx/scheduler.hpp"
#include "udtx/stats.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

// Measures how long each cause held up a connection.

/// Order of calls: enter() with times that never go back. A cause counts from its enter() to the next.
class HoldMeter {
  public:
    void enter(Instant now, SendHold why) noexcept {
        assert(!since_ || now >= *since_);
        if (since_) held_[static_cast<std::size_t>(why_)] += now - *since_;
        since_ = now;
        why_ = why;
    }
    [[nodiscard]] SendHold why() const noexcept { return why_; }
    [[nodiscard]] const HoldTimes& held() const noexcept { return held_; }

  private:
    std::optional<Instant> since_;
    SendHold why_ = SendHold::host;
    HoldTimes held_{};
};

// The parts of a connection.

/// The Endpoint makes the driver's calls. The application calls through Connection, which documents these functions.
class UDTX_LOCAL Connection::Impl {
  public:
    struct Setup {
        Role role = Role::client;
        ConnectionId local;                      ///< id of this end: the destination of packets that it receives
        ConnectionId remote;                     ///< client: at first the same as `original`; server: the client's id
        ConnectionId original;                   ///< destination id of the client's first packet
        std::uint32_t version = wire::kVersion;  ///< server: of the client's first packet
        Address local_address;
        Address remote_address;
        bool address_proved = true;  ///< server: the client's cookie proved it
        PathOptions path{};          ///< options of the first path
        /// Client: the addresses to try until one answers.
        std::vector<PathAddresses> candidates{};
        /// Called whenever this connection may have something to poll.
        std::function<void()> on_touched{};
        std::shared_ptr<WindowMemory> window_memory{};  ///< null: windows do not grow
        Experiment experiment{};
    };
    Impl(const EndpointDeps& deps, const TransportConfig& config, Setup setup, Instant now);
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    // --- driver side
    void handle_datagram(Instant now, const RxDatagram& datagram);
    /// What a packet thread needs to open packets like this one before they are handled; nullopt: packet threads leave
    /// them as they are.
    [[nodiscard]] std::optional<Opening> opening_of(const wire::ShortHeader& header);
    void handle_timeout(Instant now);
    /// Writes up to `max_segments` datagrams of one size back to back into `out`.
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    /// The byte stream that carries this path takes nothing more until it has room again.
    void on_carrier_full(const Address& local, const Address& remote, bool full);
    /// That byte stream has ended.
    void on_carrier_gone(Instant now, const Address& local, const Address& remote, const std::string& why);
    /// Client, before the first reply: another candidate.
    void add_candidate(Instant now, PathAddresses candidate);
    /// The socket refused datagrams of this size (EMSGSIZE) on this path. From now on they are smaller.
    void on_datagram_too_large(Instant now, PathId path, std::size_t bytes);
    /// The system cannot send between these addresses. Before the peer was heard, this ends the connection once it
    /// holds for all its address pairs. After that, the problem may pass. With `may_pass`, a refusal counts only if it
    /// is repeated a moment later.
    void on_no_route(Instant now, const Address& local, const Address& remote, std::string why, bool may_pass);
    /// Client: true if this datagram, which has no connection id of this end, is the peer's reset.
    [[nodiscard]] bool on_reset(Instant now, const RxDatagram& datagram);

    /// Ends the connection because this end does not want the peer.
    void refuse(Instant now, const Error& why);
    void give_up(Instant now, const std::exception& thrown) noexcept;

    [[nodiscard]] bool connected() const noexcept { return life_ == Life::established; }
    [[nodiscard]] bool drained() const noexcept { return life_ == Life::drained; }
    [[nodiscard]] Instant started() const noexcept { return started_; }
    [[nodiscard]] bool heard() const noexcept { return handshake_.heard(); }
    [[nodiscard]] const Setup& setup() const noexcept { return setup_; }
    /// The endpoint drops this connection.
    void forget_owner() noexcept {
        setup_.on_touched = nullptr;
        if (setup_.window_memory) setup_.window_memory->change(std::exchange(grown_, 0), 0);
        setup_.window_memory = nullptr;
    }

  private:
    friend class Connection;
    static constexpr int kCloseRepeats = 3;
    /// Closing and draining: RFC 9000, section 10.2.
    enum class Life : std::uint8_t {
        handshaking,
        established,
        failing,    ///< give_up() had no memory to close; the next datagram or time-out tries again
        closing,    ///< this end ended it and repeats its CLOSE
        answering,  ///< the peer ended it; one CLOSE answers
        drained,
    };
    static constexpr Step<Life> kLife[] = {
        {Life::handshaking, Life::established}, {Life::handshaking, Life::failing}, {Life::handshaking, Life::closing},
        {Life::handshaking, Life::drained},     {Life::established, Life::failing}, {Life::established, Life::closing},
        {Life::established, Life::answering},   {Life::established, Life::drained}, {Life::failing, Life::closing},
        {Life::failing, Life::drained},         {Life::closing, Life::drained},     {Life::answering, Life::drained}};
    /// Packets until a number is skipped.
    [[nodiscard]] std::uint64_t draw_skip() { return 1000 + deps_.rng->next_u64() % 4096; }
    /// event::Closed was reported.
    [[nodiscard]] bool over() const noexcept { return life_ >= Life::closing; }

    // connection.cpp
    void touch() const;
    void fail(Instant now, const Error& error);
    [[nodiscard]] bool may_be_fast() const;
    [[nodiscard]] std::uint64_t useful_ahead() const;
    void enter_closing(Instant now, CloseReason reason);
    void answer_close(Instant now, CloseReason reason);
    void end(CloseReason reason);
    /// If a plug-in of the application cannot be made, lacks_plug_in_ notes the error and a built-in one replaces it.
    void give_controller(PathContext& p);
    void make_scheduler();
    [[nodiscard]] PathStats path_stats(const PathContext& p) const;
    Result<std::vector<std::byte>> select_parameters(std::span<const std::byte> client);
    [[nodiscard]] TransportParameters own_parameters() const;
    /// The RTT of the handshake, until the path has a sample of its own.
    [[nodiscard]] const recovery::RttEstimator& rtt_of(const PathContext& p) const;
    [[nodiscard]] Duration probe_interval(const PathContext& p) const;

    // connection_paths.cpp
    PathContext& open_path(Instant now, PathId id, const Address& local, const Address& remote);
    [[nodiscard]] std::uint32_t max_paths() const;
    void use_for_handshake(const Address& local, const Address& remote, const PathOptions& options);
    [[nodiscard]] bool prepare_next_flight();
    void answer_there(const RxDatagram& datagram, wire::LongType type);
    void fit_size(PathContext& p, bool narrow);
    void settle_first_path(const RxDatagram& datagram);
    void share_rates();
    void set_cap(Rate& cap, Rate rate);
    void enter(PathContext& p, PathState state);
    void tell_path(const PathContext& p, bool unreachable);
    void activate(Instant now, PathContext& p);
    void note_failure(Instant now, PathContext& p);
    [[nodiscard]] bool fails(Instant now, const PathContext& p) const;
    void suspend(Instant now, PathContext& p);
    void suspend_silent(Instant now);
    void revive(Instant now, PathContext& p, std::uint32_t proven_bytes);
    void close_path(PathContext& p);
    void leave_closed(Instant now);
    void on_path_status(const wire::PathStatusFrame& frame);
    Result<void> on_path_abandon(const wire::PathAbandonFrame& frame);

    // connection_rx.cpp
    void on_long_packet(Instant now, const RxDatagram& datagram);
    void on_short_packet(Instant now, const RxDatagram& datagram);
    void on_opened(Instant now, PathContext& p, const RxDatagram& datagram, const wire::ShortHeader& header,
                   PacketNumber number);
    void on_version_negotiation(Instant now, const std::vector<std::uint32_t>& theirs);
    Result<void> establish(Instant now);
    Result<void> on_payload(Instant now, PathContext& p, std::span<const std::byte> payload, bool& eliciting);
    /// Frames that belong to the next ACK of their path in the same packet.
    struct Told {
        std::optional<wire::RateFeedbackFrame> rates{};
        std::optional<wire::EcnFrame> marks{};
    };
    Result<void> on_frame(Instant now, PathContext& p, const wire::Frame& frame, Told& told);
    void on_close_answered(std::span<const std::byte> payload);
    void on_path_response(Instant now, PathContext& p, std::uint64_t value);
    void follow_line(Instant now);
    Result<void> on_ack(Instant now, const PathContext& via, const wire::AckFrame& frame, const Told& told);
    void take_counts(PathContext& p, const std::optional<wire::EcnFrame>& told);
    void apply_outcome(Instant now, PathContext& p, bool timeout, const wire::RateFeedbackFrame* report = nullptr);
    void take_acked(Instant now, PathContext& p);
    void take_lost(Instant now, PathContext& p);
    void take_marked();
    void send_again(const recovery::SentPacket& packet);
    void take_report(Instant now, PathContext& p, const wire::RateFeedbackFrame& report);
    void keep_back(Instant now, PathContext& p);
    void tell_kept_back(Instant now, PathContext& p);
    void describe(const PathContext& p, CongestionFeedback& fb) const;

    // connection_tx.cpp
    struct PacketPlan {
        std::size_t size = 0;  ///< upper bound, bytes
        bool acks = true;
        bool eliciting = false;             ///< may carry ack-eliciting frames of its path ...
        bool shared = false;                ///< ... and frames that belong to no path ...
        bool data = false;                  ///< ... and stream bytes
        std::uint64_t from = 0;             ///< first offset for bytes that were never sent
        bool duplicate = false;             ///< carry the bytes that another path was given last, instead of new ones
        StreamWatch::Copy* late = nullptr;  ///< carry these bytes, which are late on another path, instead
        bool pad = false;                   ///< pad to `size`
        bool pair_second = false;
        bool mtu_probe = false;
        bool mark = false;  ///< leaves with ECT(0)
        std::optional<std::uint64_t> challenge{};
        const wire::CloseFrame* close = nullptr;
    };
    std::optional<Transmit> next_transmit(Instant now, std::size_t max_segments, std::span<std::byte> out);
    [[nodiscard]] SendHold hold_cause(Instant now);
    std::optional<Transmit> transmit_close(Instant now, std::span<std::byte> out);
    /// What a packet may carry besides the frames of its path.
    struct Cargo {
        bool shared = true;  ///< frames that belong to no path: credit, resets, the state of other paths
        bool data = true;    ///< stream bytes
        std::optional<PathPick> pick{};
    };
    std::optional<Transmit> transmit_probing(Instant now, PathContext& p, std::span<std::byte> out);
    /// How large the next challenge on the path may be.
    [[nodiscard]] static std::size_t challenge_bytes(const PathContext& p);
    std::optional<Transmit> transmit_challenge(Instant now, PathContext& p, std::span<std::byte> out);
    std::optional<Transmit> transmit_mtu_probe(Instant now, PathContext& p, std::span<std::byte> out);
    std::optional<Transmit> transmit_data(Instant now, PathContext& p, Cargo cargo, std::size_t max_segments,
                                          std::span<std::byte> out);
    void hold(PathContext& p, bool wants, bool probe);
    [[nodiscard]] bool mtu_probe_allowed(const PathContext& p, std::uint32_t size) const;
    [[nodiscard]] bool wants_to_send(const PathContext& p, const Cargo& cargo) const;
    [[nodiscard]] bool shared_pending() const;
    [[nodiscard]] std::uint32_t line_probe_here(Instant now, const PathContext& p) const;
    void fill_acks(Instant now, PathContext& p, wire::Writer& out, recovery::SentPacket& packet);
    void fill_ack_elsewhere(Instant now, wire::Writer& out);
    bool write_counts(const PathContext& p, wire::Writer& out) const;
    bool write_short_ack(wire::Writer& out);
    void fill_close(Instant now, const wire::CloseFrame& close, bool acks, wire::Writer& out);
    void fill_payload(Instant now, PathContext& p, const PacketPlan& plan, wire::Writer& w,
                      recovery::SentPacket& packet);
    void fill_shared(wire::Writer& out, recovery::SentPacket& packet);
    void fill_duplicate(const PathContext& p, wire::Writer& out, recovery::SentPacket& packet);
    void note_sent(Instant now, PathContext& p, recovery::SentPacket& packet);
    std::size_t build_packet(Instant now, PathContext& p, std::span<std::byte> out, const PacketPlan& plan);
    [[nodiscard]] Transmit transmit_of(const PathContext& p, std::size_t size, std::size_t segment,
                                       bool mark = false) const;
    std::optional<Transmit> transmit_several(Instant now, std::size_t max_segments, std::span<std::byte> out);
    [[nodiscard]] std::uint64_t budget(Instant now, PathContext& p);
    [[nodiscard]] bool has_room(Instant now, PathContext& p);
    void view_paths(Instant now);
    [[nodiscard]] PathContext* best_with_room(Instant now);
    std::optional<Transmit> transmit_late(Instant now, std::span<std::byte> out);
    [[nodiscard]] bool watching() const noexcept { return config_.reinject && !paths_.single(); }
    [[nodiscard]] std::optional<PathPick> choose(Instant now);
    void note_blocked(Instant now);

    // connection_timers.cpp
    /// `evidence`: nullopt after a stop of this process.
    void doubt(Instant now, PathContext& p, std::optional<Evidence> evidence);
    void ease_doubt(Instant now, PathContext& p);
    void on_doubt_clock(Instant now, PathContext& p);
    [[nodiscard]] std::optional<Instant> path_deadline(const PathContext& p) const;
    [[nodiscard]] std::optional<Instant> departure(const PathContext& p) const;
    [[nodiscard]] Duration lower_idle_timeout() const;
    [[nodiscard]] std::optional<Instant> keep_alive_at(const PathContext& p) const;
    void on_path_clock(Instant now, PathContext& p);
    void on_idle(Instant now);
    void on_path_timeout(Instant now, PathContext& p);
    [[nodiscard]] Instant idle_deadline() const;

    EndpointDeps deps_;
    const TransportConfig& config_;
    Setup setup_;
    Lifecycle<kLife> life_{Life::handshaking};
    std::deque<Event> events_;
    std::uint64_t congestion_seed_;

    TransportParameters peer_;
    HandshakeLayer handshake_;
    std::optional<crypto::SessionKeys> keys_;
    std::optional<PacketNumber> unsealed_;  // first packet of the present batch that a packet thread has to seal
    crypto::Cipher cipher_ = crypto::Cipher::aes_256_gcm;
    StreamTable streams_;
    std::uint64_t grown_ = 0;  // bytes of the window memory that streams_ uses
    Instant round_began_;      // start of the round trip whose delivered bytes are counted
    Instant round_ends_;
    StreamWatch watch_;
    PathSet paths_;
    recovery::Outcome outcome_;
    std::unique_ptr<PathScheduler> scheduler_;  // made with the second path
    std::vector<PathView> views_;
    std::optional<Error> lacks_plug_in_;  // the error that will end the connection
    congestion::Pacer total_;             // rate cap over all paths
    std::shared_ptr<congestion::CouplingGroup> coupling_group_ = std::make_shared<congestion::CouplingGroup>();
    struct Abandon {
        PathId path;
        std::uint64_t code = 0;
    };
    std::vector<Abandon> abandons_due_;
    Candidates candidates_;
    struct RefusedOnce {
        std::pair<Address, Address> addresses;
        Instant since;
    };
    std::vector<RefusedOnce> refused_once_;  // pairs refused once; the refusal may pass
    std::string no_route_;                   // the last refusal of the system ...
    Instant no_route_at_{};                  // ... and when
    struct Given {
        PathId path;
        recovery::SentRange range;
    };
    std::optional<Given> last_given_;  // the bytes sent last and their path; a probe repeats them on another path
    bool path_closing_ = false;        // a path has the state `closed` and must be removed
    CongestionFeedback congestion_feedback_;
    wire::AckFrame ack_scratch_;
    bool handshake_done_due_ = false;
    std::vector<std::byte> peer_key_;

    Instant started_;
    Instant last_received_;
    Instant last_sent_eliciting_;
    HoldMeter holds_;
    Rate own_rate_;
    Rate max_rate_;                       // the smallest of own_rate_, peer_rate_ and group_rate_
    Rate peer_rate_ = Rate::infinite();   // most that the peer wants to receive
    Rate group_rate_ = Rate::infinite();  // what a group of connections leaves to this one

    std::string close_text_;
    wire::CloseFrame close_frame_;
    int close_sends_ = 0;       // copies of the CLOSE that have not left
    Instant close_next_;        // time of the next copy; after the last, the end of `closing`
    Duration close_spacing_{};  // between two copies
    Duration close_linger_{};   // after the last one
    std::optional<Instant> previous_keys_until_;
    std::uint64_t seen_key_updates_ = 0;
    std::uint64_t duplicate_packets_ = 0;
    std::uint64_t undecryptable_packets_ = 0;
};

}  // namespace udtx::proto

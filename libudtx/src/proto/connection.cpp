#include "udtx/core/connection.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "congestion/factory.hpp"
#include "crypto/proofs.hpp"
#include "multipath/schedulers.hpp"
#include "proto/close_reason.hpp"
#include "proto/connection_impl.hpp"
#include "udtx/core/endpoint.hpp"

namespace udtx::proto {

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() = default;

// Life of a connection: setup, calls of the application, end.

namespace {

/// On a path this fast it pays that bytes to be sent are still in the processor's cache. On a slower one it is better
/// that the receiver learns early what is to come.
constexpr Rate kFastLine = Rate::bits_per_second(1e9);

std::unique_ptr<crypto::Handshake> make_tls(const EndpointDeps& deps, Role role,
                                            std::vector<std::byte> client_parameters,
                                            crypto::HandshakeFactory::SelectParameters select) {
    return role == Role::client ? deps.handshakes->make_client(std::move(client_parameters))
                                : deps.handshakes->make_server(std::move(select));
}

}  // namespace

Connection::Impl::Impl(const EndpointDeps& deps, const TransportConfig& config, Setup setup, Instant now)
    : deps_(deps),
      config_(config),
      setup_(std::move(setup)),
      congestion_seed_(deps.rng->next_u64()),
      handshake_(setup_.role, *deps.provider,
                 make_tls(deps, setup_.role, encode(own_parameters()),
                          [this](std::span<const std::byte> client) { return select_parameters(client); }),
                 {setup_.original, setup_.local, setup_.remote}, setup_.version),
      streams_(setup_.role, config, events_),
      paths_(std::make_unique<PathContext>(PathId{0}, config, setup_.local_address, setup_.remote_address,
                                           setup_.experiment.first_number)),
      candidates_(setup_.candidates),
      started_(now),
      last_received_(now),
      last_sent_eliciting_(now),
      own_rate_(config.max_rate),
      max_rate_(config.max_rate) {
    PathContext& first = paths_.first();
    first.options = setup_.path;
    first.last_received = first.last_eliciting = now;
    first.skip_in = draw_skip();
    give_controller(first);
    if (!setup_.address_proved) handshake_.distrust_address(0);
    if (setup_.role != Role::client) return;
    if (lacks_plug_in_) {
        end({.code = lacks_plug_in_->code, .message = lacks_plug_in_->message});
        return;
    }
    std::vector<std::byte> proof;
    if (deps_.hello_key) {
        const auto made = crypto::make_hello_proof(*deps_.provider, *deps_.hello_key, setup_.original);
        proof.assign(made.begin(), made.end());
    }
    if (const auto ok = handshake_.start(std::move(proof)); !ok) fail(now, ok.error());
    (void)candidates_.begin(Duration::zero());
    (void)prepare_next_flight();
}

Connection::Impl::~Impl() = default;

TransportParameters Connection::Impl::own_parameters() const {
    return TransportParameters::from(config_, deps_.aes_gcm_speed, deps_.chacha20_speed);
}

Result<std::vector<std::byte>> Connection::Impl::select_parameters(std::span<const std::byte> client) {
    const auto theirs = decode_parameters(client);
    if (!theirs) return theirs.error();
    TransportParameters ours = own_parameters();
    const auto cipher = choose_cipher(ours, *theirs);
    if (!cipher) return cipher.error();
    ours.cipher = static_cast<std::uint64_t>(*cipher);
    ours.tcp_ports = deps_.tcp_ports;
    if (deps_.reset_key) {
        ours.reset_token = crypto::make_reset_token(*deps_.provider, *deps_.reset_key, setup_.local);
    }
    return encode(ours);
}

namespace {

/// For a path on a byte stream, which controls its own rate. A second controller above it would only hold it back.
class Unlimited final : public CongestionController {
  public:
    explicit Unlimited(std::uint64_t window) : window_(window) {}
    void on_feedback(const CongestionFeedback& /*feedback*/) override {}
    [[nodiscard]] std::uint64_t window() const override { return window_; }
    [[nodiscard]] Rate pacing_rate() const override { return Rate::infinite(); }
    [[nodiscard]] std::uint32_t probe_packets() const override { return 0; }

  private:
    std::uint64_t window_;
};

}  // namespace

void Connection::Impl::give_controller(PathContext& p) {
    p.limits = {.datagram_bytes = p.mtu.current(), .max_rate = max_rate_, .min_rate = config_.min_rate};
    CongestionOptions options;
    options.datagram_bytes = p.limits.datagram_bytes;
    // Paths with the same random numbers would probe and back off in step.
    options.seed = congestion_seed_ + p.id.value;
    options.max_rate = p.limits.max_rate;
    options.policy = config_.policy;
    options.min_rate = p.limits.min_rate;
    options.max_window = std::max<std::uint64_t>({config_.connection_window, config_.max_memory, 1U << 20U});
    p.stretch_acks.reset();
    p.ack_interval = {};
    p.acked_span = {};
    if (p.carried()) {
        p.congestion = std::make_unique<Unlimited>(options.max_window);
        return;
    }
    congestion::Surroundings around{.coupling = config_.coupling,
                                    .cd_alpha = setup_.experiment.cd_alpha,
                                    .cd_beta = setup_.experiment.cd_beta,
                                    .udt_as_printed = setup_.experiment.udt_as_printed};
    if (config_.coupling != Coupling::none) around.group = coupling_group_;
    auto made = congestion::make_controller(config_.congestion, config_.congestion_factory, options, around);
    if (!made) {
        lacks_plug_in_ = made.error();
        made = make_congestion_controller(TransportConfig().congestion, options);
    }
    p.congestion = std::move(made).value();
    if (setup_.experiment.regenerate_acks && p.congestion->report().counts_acks) p.stretch_acks.emplace();
}

void Connection::Impl::make_scheduler() {
    auto made = multipath::make_scheduler(config_.scheduler, config_.scheduler_factory);
    if (!made) {
        lacks_plug_in_ = made.error();
        made = make_path_scheduler(TransportConfig().scheduler);
    }
    scheduler_ = std::move(made).value();
}

void Connection::Impl::touch() const {
    if (setup_.on_touched) setup_.on_touched();
}

// --- application

std::optional<Event> Connection::poll_event() {
    auto& events = impl_->events_;
    if (events.empty()) return std::nullopt;
    Event e = std::move(events.front());
    events.pop_front();
    return e;
}

static Error not_open() { return {ErrorCode::invalid_argument, "the connection is not open"}; }

Result<StreamId> Connection::open_stream(StreamKind kind) {
    if (!connected()) return not_open();
    return impl_->streams_.open(kind);
}

bool Connection::Impl::may_be_fast() const {
    const CongestionController& congestion = *paths_.first().congestion;
    return max_rate_ >= kFastLine && (congestion.report().slow_start || congestion.pacing_rate() >= kFastLine);
}

/// Bytes that should wait to be sent so that no path is idle: while the slowest path delivers a piece, the others send
/// the bytes behind it.
std::uint64_t Connection::Impl::useful_ahead() const {
    if (paths_.single() && may_be_fast()) return 0;
    double bytes_per_second = 0.0;
    double longest = 0.0;
    for (const auto& path : paths_.all()) {
        const auto& rtt = path->recovery.rtt();
        if (!rtt.has_sample() || rtt.smoothed() <= Duration::zero()) continue;
        const Rate windows = Rate::from_bytes(path->congestion->window(), rtt.smoothed());
        bytes_per_second += std::min({windows, path->congestion->pacing_rate(), max_rate_}).bytes_per_second();
        longest = std::max(longest, to_seconds(rtt.smoothed()));
    }
    const double most = static_cast<double>(config_.send_buffer);
    return static_cast<std::uint64_t>(std::min(2.0 * bytes_per_second * longest, most));
}

std::uint64_t Connection::write_capacity(StreamId id, std::uint64_t unacked) {
    return connected() ? impl_->streams_.capacity(id, {impl_->useful_ahead(), unacked}) : 0;
}

Result<void> Connection::write(StreamId id, Chunk chunk) {
    if (!connected()) return not_open();
    impl_->touch();
    return impl_->streams_.write(id, std::move(chunk));
}

Result<void> Connection::finish(StreamId id) {
    if (!connected()) return not_open();
    impl_->touch();
    return impl_->streams_.finish(id);
}

ReadResult Connection::read(StreamId id, std::span<std::byte> out) {
    const ReadResult result = impl_->streams_.read(id, out);
    if (result.bytes > 0) impl_->touch();
    return result;
}

ReadChunk Connection::read_chunk(StreamId id) {
    ReadChunk result = impl_->streams_.read_chunk(id);
    if (!result.chunk.empty()) impl_->touch();
    return result;
}

void Connection::set_piece_sink(PieceSink* sink) { impl_->streams_.set_sink(sink); }

void Connection::release_pieces(StreamId id, std::uint64_t bytes) {
    impl_->streams_.release(id, bytes);
    impl_->touch();
}

void Connection::reset_stream(StreamId id, std::uint64_t code) {
    impl_->streams_.reset(id, code);
    impl_->touch();
}

void Connection::stop_receiving(StreamId id, std::uint64_t code) {
    impl_->streams_.stop(id, code);
    impl_->touch();
}

std::uint64_t Connection::held_bytes() const { return impl_->streams_.held_bytes(); }

void Connection::recall(PathId id, const KnownPath& known) {
    PathContext* path = impl_->paths_.find(id);
    if (path == nullptr) return;
    // The handshake ran on path 0.
    const auto& rtt = id == PathId{} ? impl_->rtt_of(*path) : path->recovery.rtt();
    path->congestion->recall(known, rtt.has_sample() ? rtt.minimum() : Duration::zero());
}

void Connection::set_max_rate(Rate rate) { impl_->set_cap(impl_->own_rate_, rate); }
void Connection::set_peer_rate(Rate rate) { impl_->set_cap(impl_->peer_rate_, rate); }
void Connection::set_group_rate(Rate rate) { impl_->set_cap(impl_->group_rate_, rate); }

void Connection::Impl::set_cap(Rate& cap, Rate rate) {
    if (!may_cap(rate)) return;
    cap = rate;
    max_rate_ = std::min({own_rate_, peer_rate_, group_rate_});
    share_rates();
    touch();
}

bool Connection::connected() const noexcept { return impl_->connected(); }
bool Connection::drained() const noexcept { return impl_->drained(); }
Role Connection::role() const noexcept { return impl_->setup_.role; }
Instant Connection::started() const noexcept { return impl_->started_; }
bool Connection::heard() const noexcept { return impl_->heard(); }
const Address& Connection::remote() const noexcept { return impl_->paths_.first().remote; }
std::span<const std::byte> Connection::peer_key() const noexcept { return impl_->peer_key_; }
std::span<const std::uint16_t> Connection::peer_tcp_ports() const noexcept { return impl_->peer_.tcp_ports; }
ConnectionId Connection::local_id() const noexcept { return impl_->setup_.local; }
ConnectionId Connection::remote_id() const noexcept { return impl_->handshake_.remote_id(); }
std::span<const PathAddresses> Connection::candidates() const noexcept { return impl_->candidates_.all(); }

void Connection::add_candidate(Instant now, const PathAddresses& candidate) { impl_->add_candidate(now, candidate); }

// --- the end

void Connection::refuse(Instant now, std::string message) {
    impl_->refuse(now, {ErrorCode::no_resources, std::move(message)});
}

void Connection::Impl::refuse(Instant now, const Error& why) {
    fail(now, why);
    streams_.drop_bytes();
}

void Connection::give_up(Instant now, const std::exception& thrown) noexcept { impl_->give_up(now, thrown); }

void Connection::Impl::give_up(Instant now, const std::exception& thrown) noexcept {
    if (life_ < Life::failing) life_.enter(Life::failing);
    try {
        refuse(now, end_for_exception(thrown));
    } catch (const std::exception&) {
        // There is no memory even for that.
    }
}

void Connection::close(Instant now, std::uint64_t code, std::string reason) {
    if (impl_->over()) return;
    CloseReason why{
        .code = ErrorCode::interrupted, .application = true, .wire_code = code, .message = std::move(reason)};
    impl_->enter_closing(now, std::move(why));
    impl_->streams_.drop_bytes();
}

void Connection::Impl::fail(Instant now, const Error& error) {
    if (over()) return;
    enter_closing(now, {.code = error.code,
                        .wire_code = static_cast<std::uint64_t>(close_code_for(error.code)),
                        .message = error.message});
}

void Connection::Impl::enter_closing(Instant now, CloseReason reason) {
    const bool orderly = reason.orderly();
    close_text_ = reason.message.substr(0, 256);
    close_frame_ = {reason.wire_code, reason.application, close_text_};
    events_.push_back(event::Closed{std::move(reason)});  // first, because it allocates memory
    life_.enter(Life::closing);
    close_sends_ = kCloseRepeats;
    close_next_ = now;
    // After an orderly end nothing more needs to be said. The copies follow soon, so that the process need not stay for
    // them.
    const Duration interval = probe_interval(paths_.first());
    close_spacing_ = orderly ? std::min<Duration>(kSynInterval / 2, interval) : interval;
    close_linger_ = kCloseRepeats * interval - (kCloseRepeats - 1) * close_spacing_;
    touch();
}

// One answer, so that the peer need not repeat its CLOSE until it times out (RFC 9000, section 10.2.2).
void Connection::Impl::answer_close(Instant now, CloseReason reason) {
    events_.push_back(event::Closed{std::move(reason)});
    life_.enter(Life::answering);
    close_frame_ = {};
    close_sends_ = 1;
    close_next_ = now;
    touch();
}

void Connection::Impl::end(CloseReason reason) {
    if (drained()) return;
    if (!over()) events_.push_back(event::Closed{std::move(reason)});
    life_.enter(Life::drained);
    touch();
}

const recovery::RttEstimator& Connection::Impl::rtt_of(const PathContext& p) const {
    return p.recovery.rtt().has_sample() ? p.recovery.rtt() : handshake_.rtt();
}

Duration Connection::Impl::probe_interval(const PathContext& p) const {
    return std::min<Duration>(rtt_of(p).probe_timeout() + kSynInterval, std::chrono::milliseconds(500));
}

PathStats Connection::Impl::path_stats(const PathContext& p) const {
    PathStats s = p.figures;
    s.id = p.id;
    s.local = p.local;
    s.remote = p.remote;
    s.datagram_bytes = p.mtu.current();
    // The handshake ran on path 0.
    const auto& rtt = p.id == PathId{} ? rtt_of(p) : p.recovery.rtt();
    if (rtt.has_sample()) {
        s.smoothed_rtt = rtt.smoothed();
        s.min_rtt = rtt.minimum();
        s.rtt_variance = rtt.variance();
    }
    s.window = p.congestion->window();
    s.in_flight = p.recovery.in_flight();
    s.pacing_rate = std::min(p.congestion->pacing_rate(), max_rate_);
    s.congestion = p.congestion->report();
    s.line = p.line_estimator.last();
    s.known = p.congestion->known_path();
    s.state = p.state;
    s.standby = p.options.standby;
    s.reinjected_bytes = watch_.reinjected(p.id);
    s.transmit_times = watch_.transmit_times(p.id);
    return s;
}

ConnectionStats Connection::stats() const {
    const Impl& c = *impl_;
    ConnectionStats s;
    for (const auto& p : c.paths_.all()) s.paths.push_back(c.path_stats(*p));
    s.paths.insert(s.paths.end(), c.paths_.closed().begin(), c.paths_.closed().end());
    s.stream_bytes_sent = c.streams_.counters().bytes_sent;
    s.stream_bytes_resent = c.streams_.counters().bytes_resent;
    s.stream_bytes_received = c.streams_.counters().bytes_received;
    s.stream_bytes_outstanding = c.streams_.outstanding();
    s.duplicate_packets = c.duplicate_packets_;
    s.undecryptable_packets = c.undecryptable_packets_;
    s.key_updates = c.keys_ ? c.keys_->key_updates() : 0;
    s.held = c.holds_.held();
    s.hold = c.holds_.why();
    s.cipher = std::string(crypto::to_string(c.cipher_));
    s.congestion = c.config_.congestion;
    return s;
}

}  // namespace udtx::proto

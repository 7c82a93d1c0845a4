#include "ssh/one_transfer.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/units.hpp"
#include "control/control_commands.hpp"
#include "observe/final_report.hpp"
#include "observe/progress_display.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// The other side dials at once; its addresses may be several, tried in turn.
constexpr Duration kPeerWithin = std::chrono::seconds(60);
/// ssh has gone: when nothing moves over UDP either, so has the other side. One that answers, and moves nothing, may
/// have lost its ssh, and its disk may be slow.
constexpr Duration kPatienceWithoutSsh = std::chrono::seconds(4);
/// For our own disk to take what is complete, and for the other side to hear of it.
constexpr Duration kWindUpWithin = std::chrono::seconds(5);

}  // namespace

void OneTransfer::listen() {
    driver_.listen(2, [self = shared_from_this()](proto::Connection& connection) {
        std::shared_ptr<proto::ConnectionHandler> handler;
        if (self->taken_.exchange(true)) return handler;  // whoever else has the key: one is enough
        self->connection_ = &connection;
        self->job_.set_waker(self->driver_.waker_for(connection));
        handler = self;
        return handler;
    });
}

bool OneTransfer::serve(BootstrapChannel& channel, Duration patience, TransferCard card) {
    if (const auto local = driver_.local_address()) card.port = local->port;
    // Without one it can only not be listed.
    const auto control =
        ControlSocket::open(control_handler(nullptr, {[&] { return status_json(card, observer_.latest()); },
                                                      [&] { return status_lines(card, observer_.latest()); }}));
    return serve(channel, patience);
}

bool OneTransfer::serve(BootstrapChannel& channel, Duration patience) {
    const Instant start = monotonic_now();
    StallTimer stall;
    for (;;) {
        const auto signal = signals_.wait(SignalWaiter::kTurn);
        const Instant now = monotonic_now();
        const bool alone = channel.closed();
        if (!taken_) {
            if (signal || alone || now - start >= kPeerWithin) return true;
            tell_heard(channel);
            continue;
        }
        if (done_) return true;
        observer_.look({.at = now - start, .progress = job_.progress()});
        if (alone) suspect_end();
        if (signal && !interrupt(*signal, now)) return false;
        if (deadline_ && now >= *deadline_) return false;
        const Duration limit = alone ? std::min(patience, kPatienceWithoutSsh) : patience;
        if (!deadline_ && stall.idle(now - start, job_.progress()) >= limit) {
            abort(now, ErrorCode::timeout, "nothing moved for " + format_elapsed(limit));
        }
    }
}

ExitCode OneTransfer::code() const {
    if (interruption_.signal() != 0) return ExitCode::interrupted;
    return taken_ ? exit_code_for(job_.result()) : ExitCode::udp_blocked;
}

void OneTransfer::tell_heard(const BootstrapChannel& channel) {
    if (told_heard_ || !driver_.heard()) return;
    told_heard_ = true;
    BootstrapFields fields;
    fields.add("heard", "1");
    channel.answer(fields);
}

void OneTransfer::suspect_end() {
    driver_.post([self = shared_from_this()] {
        if (self->connection_ != nullptr) self->connection_->suspect(monotonic_now(), proto::Evidence::exited);
    });
}

void OneTransfer::abort(Instant now, ErrorCode code, const std::string& reason) {
    deadline_ = now + kWindUpWithin;
    driver_.post([self = shared_from_this(), code, reason] {
        if (self->connection_ == nullptr) return;
        self->job_.abort(monotonic_now(), *self->connection_, code, reason);
    });
}

bool OneTransfer::interrupt(int signal, Instant now) {
    const auto wish = interruption_.on_signal(signal, now);
    if (wish != Interruption::Wish::wind_up) return wish == Interruption::Wish::nothing;
    abort(now, ErrorCode::interrupted, std::string("interrupted by ") + signal_name(signal) + " there");
    return true;
}

void OneTransfer::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Closed>(event)) connection_ = nullptr;
    job_.on_event(now, connection, event);
}

void OneTransfer::on_wake(Instant now, proto::Connection& connection) { job_.on_wake(now, connection); }

void OneTransfer::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    job_.on_placed(id, offset, bytes);
}

}  // namespace udtx::apps

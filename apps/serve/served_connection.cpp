#include "serve/served_connection.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "common/units.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::apps {
namespace {
/// So long an aborted transfer has to be tidied up, told and closed in good order.
constexpr Duration kAnswerWithin = std::chrono::seconds(2);
/// So long a peer that says nothing has to say what it wants. Ours says it at once ...
constexpr Duration kFirstWordWithin = std::chrono::seconds(15);
/// ... and so long all of that may take, with a long list of names on a slow line.
constexpr Duration kRequestWithin = std::chrono::minutes(10);
}  // namespace

ServedConnection::ServedConnection(io::Driver& driver, proto::Connection& connection, std::string who,
                                   std::uint64_t owner, std::string directory, Rate most, Rate cap)
    : driver_(driver),
      connection_(&connection),
      peer_(to_string(connection.remote())),
      who_(std::move(who)),
      owner_(owner),
      directory_(std::move(directory)),
      start_(monotonic_now()),
      heard_at_(start_),
      most_(most),
      cap_(cap),
      observer_(DataEnd::receiver, false, peer_) {}

std::shared_ptr<ServedConnection> ServedConnection::make(io::Driver& driver, proto::Connection& connection,
                                                         std::string who, std::uint64_t owner, std::string directory,
                                                         transfer::ServeOptions options, std::function<void()> on_done,
                                                         Rate most) {
    options.cap = std::min(options.told, most);
    std::shared_ptr<ServedConnection> self(
        new ServedConnection(driver, connection, std::move(who), owner, std::move(directory), most, options.cap));
    // The flags and not the connection: the last owner of the connection must not be a thread of its own job.
    self->job_ = std::make_unique<transfer::ServedJob>(
        std::move(options), [done = self->done_, end = self->end_, tell = std::move(on_done)] {
            *end = monotonic_now();
            *done = true;
            tell();
        });
    return self;
}

Duration ServedConnection::elapsed() const { return (done() ? end_->load() : monotonic_now()) - start_; }

std::optional<ConnectionStats> ServedConnection::final_stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
}

void ServedConnection::look(Instant now, Duration protocol) {
    if (sends()) observer_.become(DataEnd::sender);
    const transfer::ReceiveJob* receiver = job_->receiver();
    const transfer::Progress progress = job_->progress();
    if (const std::uint64_t heard = job_->heard(); heard != std::exchange(heard_, heard)) heard_at_ = now;
    idle_ = is_silent() ? now - heard_at_ : stall_.idle(now - start_, progress);
    observer_.look({.at = now - start_,
                    .progress = progress,
                    .stats = final_stats(),
                    .protocol = protocol,
                    .process = process_time(),
                    .writing = receiver == nullptr ? Duration() : receiver->written_for(),
                    .cap = cap_});
}

void ServedConnection::keep_below(Rate rate) {
    rate = std::min(rate, most_);
    if (rate == cap_) return;
    cap_ = rate;
    driver_.post([weak = weak_from_this(), rate] {
        const auto self = weak.lock();
        if (self && self->connection_ != nullptr) {
            self->job_->set_cap(monotonic_now(), *self->connection_, rate);
        }
    });
}

void ServedConnection::sample_stats() {
    driver_.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->connection_ != nullptr) self->keep_stats(*self->connection_);
    });
}

void ServedConnection::keep_stats(const proto::Connection& connection) {
    streams_held_ = connection.held_bytes();
    ConnectionStats stats = connection.stats();
    const std::lock_guard lock(mutex_);
    stats_ = std::move(stats);
}

void ServedConnection::abort(Instant now, ErrorCode code, const std::string& reason) {
    if (aborted_ || done()) return;
    aborted_ = Error{code, reason};
    aborted_at_ = now;
    ask_to_end();
}

void ServedConnection::ask_to_end() {
    driver_.post([self = shared_from_this(), why = *aborted_] {
        if (self->connection_ == nullptr) return;
        self->job_->abort(monotonic_now(), *self->connection_, why.code, why.message);
    });
}

void ServedConnection::give_way(ErrorCode code, std::string why) {
    const std::lock_guard lock(mutex_);
    if (!way_given_) way_given_ = Error{code, std::move(why)};
    gives_way_ = true;
}

void ServedConnection::end_if_overdue(Instant now, std::optional<Duration> patience) {
    if (done()) return;
    if (gives_way_ && !aborted_) {
        const std::lock_guard lock(mutex_);
        abort(now, way_given_->code, way_given_->message);
    }
    if (aborted_) {
        // The sender had its time to hear what was delivered and to close.
        if (now >= aborted_at_ + kAnswerWithin && !std::exchange(closed_, true)) ask_to_end();
    } else if (is_silent()) {
        if (idle() >= kFirstWordWithin) {
            abort(now, ErrorCode::timeout,
                  (heard_ == 0 ? "nothing was asked for within " : "nothing more of a request came within ") +
                      format_elapsed(kFirstWordWithin));
        } else if (now - start_ >= kRequestWithin) {
            abort(now, ErrorCode::timeout, "a request was not whole within " + format_elapsed(kRequestWithin));
        }
    } else if (patience && idle() >= *patience) {
        abort(now, ErrorCode::timeout, "nothing moved for " + format_elapsed(*patience));
    }
}

void ServedConnection::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    if (!std::exchange(waker_set_, true)) job_->set_waker(driver_.waker_for(connection));
    if (std::holds_alternative<proto::event::Closed>(event)) {
        connection_ = nullptr;  // it goes after this call, whatever happens here
        try {
            keep_stats(connection);
        } catch (const std::exception&) {
            // No memory for the last figures: those before stay.
        }
    }
    job_->on_event(now, connection, event);
}

void ServedConnection::on_wake(Instant now, proto::Connection& connection) { job_->on_wake(now, connection); }

void ServedConnection::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    job_->on_placed(id, offset, bytes);
}

}  // namespace udtx::apps

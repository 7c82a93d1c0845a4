#include "common/supervisor.hpp"

#include <utility>

#include "common/process.hpp"
#include "common/units.hpp"
#include "io/monotonic_clock.hpp"

namespace udtx::apps {
namespace {

/// After the time to wind up: so long to close without the other side's answer.
constexpr Duration kCloseWithin = std::chrono::milliseconds(300);

}  // namespace

Supervisor::Supervisor(const Setup& setup, DialHandler& dial, const transfer::Job& job, const std::atomic<bool>& done)
    : setup_(setup),
      dial_(dial),
      job_(job),
      done_(done),
      display_(setup.terminal, ProgressDisplay::choose(setup.options.quiet, setup.options.progress, setup.terminal),
               setup.end, setup.options.verbose),
      start_(io::monotonic_now()),
      last_moved_(start_) {
    if (setup.again) display_.call_it_reconnecting();
}

bool Supervisor::wait() {
    while (!done_) {
        const auto signal = setup_.signals.wait(std::chrono::milliseconds(100));
        const Instant now = io::monotonic_now();
        if (signal && !interrupt(*signal, now)) return false;
        const Duration since = now - given_up_at_;
        if (given_up_ && since >= setup_.wind_up_within && !std::exchange(closed_, true)) ask_to_end();
        if (given_up_ && since >= setup_.wind_up_within + kCloseWithin) return false;
        const auto progress = job_.progress();
        show(now, progress);
        watch(now, progress);
    }
    end_ = io::monotonic_now();
    display_.finish();
    return true;
}

Duration Supervisor::elapsed() const { return end_.value_or(io::monotonic_now()) - start_; }

void Supervisor::show(Instant now, const transfer::Progress& progress) {
    const auto cap = setup_.watch != nullptr ? setup_.watch->new_cap(now) : std::nullopt;
    if (cap) {
        setup_.log->info(describe_rate_cap(*cap));
        dial_.set_max_rate(*cap);
    }
    const auto stats = dial_.final_stats();
    dial_.sample_stats();  // for the next time
    look(now, progress, stats);
    display_.update(now - start_, progress, setup_.streaming, display_.with_paths() ? stats : std::nullopt);
}

void Supervisor::look(Instant now, const transfer::Progress& progress, const std::optional<ConnectionStats>& stats) {
    if (setup_.watch == nullptr) return;
    setup_.watch->look({.at = now - start_,
                        .progress = progress,
                        .stats = stats,
                        .protocol = setup_.transport->thread_time(),
                        .process = process_time(),
                        .writing = setup_.writing()});
}

void Supervisor::look_back() { look(end_.value_or(io::monotonic_now()), job_.progress(), dial_.final_stats()); }

bool Supervisor::interrupt(int signal, Instant now) {
    const auto wish = interruption_.on_signal(signal, now);
    if (wish == Interruption::Wish::wind_up) {
        give_up(now, ErrorCode::interrupted,
                std::string("interrupted by ") + signal_name(signal) +
                    (setup_.end == DataEnd::sender ? " at the sender" : " at the receiver"));
    }
    return wish != Interruption::Wish::leave;
}

void Supervisor::give_up(Instant now, ErrorCode code, std::string reason) {
    if (!given_up_) given_up_at_ = now;
    given_up_ = Error{code, std::move(reason)};
    ask_to_end();
}

void Supervisor::watch(Instant now, const transfer::Progress& progress) {
    const auto& limit = setup_.options.timeout;
    const Duration idle = stall_.idle(now - start_, progress);
    last_moved_ = now - idle;
    // The handshake has its own limit.
    if (given_up_ || progress.phase == transfer::Phase::connect || (setup_.streaming && !limit)) return;
    const Duration patience = limit.value_or(kDefaultPatience);
    if (idle < patience) return;
    give_up(now, ErrorCode::timeout, "nothing moved for " + format_elapsed(patience));
}

}  // namespace udtx::apps

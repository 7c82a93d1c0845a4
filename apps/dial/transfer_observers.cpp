#include "dial/transfer_observers.hpp"

#include <unistd.h>

#include <utility>

#include "common/descriptors.hpp"
#include "common/process.hpp"
#include "common/units.hpp"
#include "control/control_commands.hpp"
#include "observe/prometheus.hpp"

namespace udtx::apps {
namespace {
/// A shorter silence is not logged.
constexpr Duration kWorthALine = std::chrono::seconds(5);
}  // namespace

TransferObservers::TransferObservers(const CommonOptions& options, Log& log, Subject subject)
    : options_(options),
      log_(log),
      subject_(std::move(subject)),
      observer_(subject_.end, subject_.streaming, subject_.peer),
      rates_(governor_settings(options, options.rate)) {}

Result<std::unique_ptr<TransferObservers>> TransferObservers::start(const CommonOptions& options, Log& log,
                                                                    Subject subject, JsonTicker::Print print) {
    const bool sends = subject.end == DataEnd::sender;
    const std::string where = (sends ? "to " : "from ") + subject.peer;
    std::unique_ptr<TransferObservers> observers(new TransferObservers(options, log, std::move(subject)));
    TransferObservers& self = *observers;
    auto page = LivePage::open(options.observing, page_subject(self.subject_.end, where, true), log);
    if (!page) return page.error();
    self.page_ = std::move(*page);
    if (self.page_) {
        if (const auto served = self.page_->serve(); !served) return served.error();
    }
    auto metrics = serve_metrics(options, log, [&self, sends] {
        return metrics_text(
            {.role = sends ? "sender" : "receiver", .version = program_version(), .transfers = {self.latest()}});
    });
    if (!metrics) return metrics.error();
    self.metrics_ = std::move(*metrics);
    self.control_ = open_control(log, self.control());
    if (options.observing.json_stream) self.json_.emplace(std::move(print));
    return observers;
}

ControlSocket::Handler TransferObservers::control() {
    return control_handler(subject_.end == DataEnd::sender ? &rates_ : nullptr,
                           {[this] { return status_json(subject_.card, latest()); },
                            [this] { return status_lines(subject_.card, latest()); }});
}

Rate TransferObservers::first_cap(Instant now) { return cap_ = cap_now(log_, rates_, now, true); }

std::optional<Rate> TransferObservers::new_cap(Instant now) {
    if (subject_.end == DataEnd::receiver) return std::nullopt;
    const Rate cap = cap_now(log_, rates_, now, true);
    if (cap == cap_) return std::nullopt;
    return cap_ = cap;
}

void TransferObservers::show_on(Terminal& terminal) {
    display_.emplace(terminal, ProgressDisplay::choose(options_.quiet, options_.progress, terminal), subject_.end,
                     options_.verbose);
}

void TransferObservers::begin_connection(Instant now) {
    if (!start_) start_ = now;
    observer_.begin_connection();
}

void TransferObservers::lost(Instant now, const FinalReport& report) {
    account_.carry(report.progress, report.outcome);
    silence_.lost(since_start(now));
}

void TransferObservers::look(Instant now, Glance glance) {
    glance.at = since_start(now);
    glance.progress = account_.whole(std::move(glance.progress));
    silence_.look(glance.at, glance.stats);
    glance.unanswered = silence_.unanswered();
    const bool running = glance.progress.phase != transfer::Phase::done;
    glance.outage = silence_.outage() && running;
    glance.overdue = silence_.overdue() && running;
    glance.quiet = silence_.quiet() && running;
    glance.cap = cap_;
    observer_.look(glance);
    const Observation seen = observer_.latest();
    if (json_) json_->tick(glance.at, seen);
    if (page_ && page_->due(glance.at)) page_->tick(glance.at, {seen});
    tell_silence();
    show(seen);
}

void TransferObservers::look_at_nothing(Instant now, Screen screen) {
    Glance glance;
    glance.progress.phase = transfer::Phase::connect;
    glance.connected = false;
    screen_ = screen;
    look(now, std::move(glance));
    screen_ = Screen::ours;
}

void TransferObservers::show(const Observation& seen) {
    if (!display_ || screen_ == Screen::leave) return;
    display_->set_notice(seen.silent ? silence_text() : std::string());
    display_->update(seen.at, seen.progress, seen.streaming, display_->with_paths() ? seen.stats : std::nullopt);
}

void TransferObservers::clear_screen() {
    if (display_) display_->finish();
}

/// Logs the silence once, and its end once.
void TransferObservers::tell_silence() {
    const Duration unanswered = silence_.unanswered();
    if (!silence_.outage()) {
        if (told_silence_) log_.info(subject_.peer + " answers again, after " + format_elapsed(*told_silence_));
        told_silence_.reset();
    } else if (told_silence_ || unanswered >= kWorthALine) {
        if (!told_silence_) log_.warn(silence_text());
        told_silence_ = unanswered;
    }
}

std::string TransferObservers::silence_text() const {
    const auto whole = std::chrono::floor<std::chrono::seconds>(silence_.unanswered());
    const std::string text = "no answer from " + subject_.peer + " for " + std::to_string(whole.count()) + " s";
    if (!subject_.tries_again_for) return text;
    return text + ", trying again until " + (options_.timeout ? "--timeout, " : "") +
           format_elapsed(*subject_.tries_again_for);
}

void TransferObservers::finish(FinalReport& report) {
    clear_screen();
    report.limits = latest().limits;
    if (page_) page_->finish(latest().at, {latest()}, report);
}

}  // namespace udtx::apps

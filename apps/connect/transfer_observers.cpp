#include "connect/transfer_observers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/process.hpp"
#include "common/units.hpp"
#include "observe/prometheus.hpp"

namespace udtx::apps {
namespace {

/// Subtracts at most `amount` from `from`. Returns the part of `amount` that was not subtracted.
std::uint64_t take_from(std::uint64_t& from, std::uint64_t amount) {
    const std::uint64_t taken = std::min(from, amount);
    from -= taken;
    return amount - taken;
}

}  // namespace

transfer::Progress Account::whole(transfer::Progress now) const {
    if (!carried_) return now;
    const transfer::Progress& before = progress_;
    // The receiver had before.bytes_kept bytes before this command started. What it has beyond that came over an
    // earlier connection of this command. It may have written more than it confirmed before that connection was lost.
    const std::uint64_t kept = now.bytes_kept - std::min(now.bytes_kept, before.bytes_kept);
    const std::uint64_t again = std::min(kept, std::max(before.bytes_done, before.bytes_sent));
    now.bytes_done = std::max(before.bytes_done, again + now.bytes_done);
    now.bytes_sent = std::max(now.bytes_done, again + now.bytes_sent);
    now.bytes_kept = before.bytes_kept + (kept - again);
    // A connection's total includes the bytes that the receiver has until their file is complete.
    const std::uint64_t most = now.totals_final ? now.bytes_total + again : UINT64_MAX;
    const std::uint64_t known = before.totals_final ? 0 : now.bytes_total;
    now.bytes_total = std::max(now.bytes_done, std::min(most, std::max(before.bytes_total, known)));
    now.files_done = std::max(before.files_done, now.files_done);
    if (!now.totals_final) now.files_total = std::max(before.files_total, now.files_total);
    return now;
}

transfer::Outcome Account::whole(transfer::Outcome now) const {
    if (!carried_) return now;
    const transfer::Outcome& before = outcome_;
    const transfer::SentEarlier ours = std::exchange(now.sent_earlier, {});
    // Earlier connections delivered before.files files. This connection counts each of them as delivered, as unchanged,
    // or as skipped. Sent files are compared by name if names are known, otherwise only by their number.
    const std::uint64_t counted = std::min(before.files, std::max(ours.files, std::min(now.kept_files, now.files)));
    const std::uint64_t uncounted = before.files - counted;
    take_from(now.skipped, take_from(now.unchanged, uncounted + ours.stood_files + before.links));
    now.files = std::max(before.files, now.files + uncounted + ours.stood_files);
    now.links += before.links;
    // What an earlier connection made is unchanged for this one.
    const std::uint64_t made_before = before.directories - take_from(now.unchanged_directories, before.directories);
    now.directories = std::max(now.directories + made_before, before.directories);
    const std::uint64_t counted_bytes = std::max(ours.bytes, std::min(now.kept_file_bytes, now.bytes));
    now.bytes += before.bytes - std::min(before.bytes, counted_bytes) + ours.stood_bytes;
    now.bytes = std::max(before.bytes, now.bytes);
    now.erased += before.erased;
    // As in the progress: bytes of an earlier connection count as sent by this command, confirmed or not.
    const std::uint64_t kept = now.kept_bytes - std::min(now.kept_bytes, before.kept_bytes);
    const std::uint64_t again = std::min(kept, std::max(before.sent_bytes, progress_.bytes_sent));
    const bool by_count = uncounted > 0 && ours.files == 0;
    const std::uint64_t earlier = by_count ? std::max(again, before.sent_bytes) : again + ours.stood_data;
    now.sent_bytes = std::max(before.sent_bytes, earlier + now.sent_bytes);
    now.kept_bytes = before.kept_bytes + (kept - again);
    return now;
}

void Account::carry(const transfer::Progress& progress, const transfer::Outcome& outcome) {
    carried_ = true;
    progress_ = progress;
    outcome_ = outcome;
}

namespace {
/// A shorter silence is not logged.
constexpr Duration kWorthALine = std::chrono::seconds(5);
}  // namespace

TransferObservers::TransferObservers(const CommonOptions& options, Log& log, Subject subject)
    : options_(options),
      log_(log),
      subject_(std::move(subject)),
      observer_(subject_.end, subject_.streaming, subject_.peer),
      rates_(options, options.rate, log) {}

Result<std::unique_ptr<TransferObservers>> TransferObservers::start(const CommonOptions& options, Log& log,
                                                                    Subject subject, JsonTicker::Print print) {
    const bool sends = subject.end == DataEnd::sender;
    const std::string where = (sends ? "to " : "from ") + subject.peer;
    std::unique_ptr<TransferObservers> observers(new TransferObservers(options, log, std::move(subject)));
    TransferObservers& self = *observers;
    auto page = LivePage::open(options, page_subject(self.subject_.end, where, true), log);
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
    self.control_ = open_control(sends ? &self.rates_ : nullptr, &log,
                                 [&self] { return Described{.card = self.subject_.card, .seen = self.latest()}; });
    if (options.json_stream) self.json_.emplace(std::move(print));
    return observers;
}

Rate TransferObservers::first_cap(Instant now) { return cap_ = rates_.update(now, true); }

std::optional<Rate> TransferObservers::new_cap(Instant now) {
    if (subject_.end == DataEnd::receiver) return std::nullopt;
    const Rate cap = rates_.update(now, true);
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

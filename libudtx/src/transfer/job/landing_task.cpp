#include "transfer/job/landing_task.hpp"

#include <chrono>
#include <utility>

#include "transfer/job/receive_job.hpp"
#include "transfer/landing/dry_landing.hpp"
#include "transfer/landing/stream_landing.hpp"
#include "transfer/landing/tree_landing.hpp"

namespace udtx::transfer {

namespace {

constexpr auto kBeforeAnotherTry = std::chrono::milliseconds(20);

}  // namespace

LandingTask::LandingTask(const ReceiveJobOptions& options, LateWaker& waker, JobReport& report)
    : options_(options), report_(report), feedback_(waker) {}

LandingTask::~LandingTask() {
    stop();
    if (task_) task_->end();
    // Tidies up if the task had no time for it.
    landing_.reset();
}

void LandingTask::stop() {
    if (stop_) stop_->stop();
    queue_.cancel();
}

void LandingTask::start(const ConfinedDir* base, const message::Offer& offer, std::function<void()> over) {
    base_ = base;
    offer_ = offer;
    over_ = std::move(over);
    if (options_.to_stream) stop_.emplace();
    task_.emplace(
        disk_pools().work, [this] { return step(); }, [this](Error error) { return keep_trouble(std::move(error)); });
    const auto wake = [this] { task_->wake(); };
    queue_.call(wake, nullptr);
    feedback_.call(wake);
    task_->wake();
}

DiskStep LandingTask::step() {
    const DiskStep next = work();
    const bool goes_on = next.then == DiskStep::Then::again;
    if (goes_on && report_.worked()) feedback_.edit([](ReceiveFeedback::News&) {});
    feedback_.tell_released();
    return next;
}

DiskStep LandingTask::work() {
    const DiskSlice slice;
    if (trouble_) tell_trouble();
    // The protocol thread closes the queue when there is no more work.
    while (!queue_.over()) {
        if (trouble_) {
            if (!queue_.try_pop()) return DiskStep::rest();
            continue;
        }
        if (!landing_) {
            const auto measured = measure_quota(slice);
            if (!measured) return keep_trouble(measured.error());
            if (!*measured) return DiskStep::rest_for(kBeforeAnotherTry);
            landing_ = make_landing();
        }
        if (!landing_->begun()) return DiskStep::rest_for(kBeforeAnotherTry);
        if (!feedback_.has_room()) return DiskStep::rest();
        const WorkClock::Shift shift(work_);
        if (!landing_->go_on()) {
            auto next = queue_.try_pop();
            if (!next) return queue_.over() ? DiskStep::again() : DiskStep::rest();
            landing_->take(std::move(*next));
        }
        landed_ = landing_->held();
        if (slice.over()) return DiskStep::again();
    }
    landing_.reset();
    look_.reset();
    landed_ = 0;
    feedback_.edit([](ReceiveFeedback::News& news) { news.worker_idle = true; });
    over_();
    return DiskStep::over();
}

Result<bool> LandingTask::measure_quota(const DiskSlice& slice) {
    const bool writes = base_ && !options_.to_stream && !offer_->dry_run && offer_->mode != TransferMode::probe;
    if (!writes || !options_.room.quota) return true;
    if (!look_) look_.emplace(options_.room.quota);
    const auto over = look_->go_on(*base_, slice);
    if (over && *over) look_.reset();
    return over;
}

std::unique_ptr<Landing> LandingTask::make_landing() {
    const message::Offer& offer = *offer_;
    const LandingLinks links{queue_, feedback_, report_};
    const TreeRights rights{
        options_.resume, options_.overwrite, options_.receipt != nullptr, static_cast<bool>(options_.planned),
        options_.room,   options_.keep_base, options_.allow_set_id};
    if (offer.mode == TransferMode::probe) return land_probe(links);
    if (offer.dry_run) return land_nowhere(base_, offer, rights, links);
    if (offer.mode == TransferMode::tree) return land_tree(*base_, offer, rights, links);
    if (options_.to_stream) return land_pipe(options_.stream_fd, offer, *stop_, links);
    return land_file(*base_, offer, rights, links);
}

DiskStep LandingTask::keep_trouble(Error error) noexcept {
    if (!trouble_) {
        trouble_ = std::move(error);
        return DiskStep::again();
    }
    // Reporting the error failed as well: try again later.
    return DiskStep::rest_for(kBeforeAnotherTry);
}

void LandingTask::tell_trouble() {
    landing_.reset();
    look_.reset();
    if (trouble_told_) return;
    feedback_.edit([this](ReceiveFeedback::News& news) { news.fatal = *trouble_; });
    trouble_told_ = true;
}

}  // namespace udtx::transfer

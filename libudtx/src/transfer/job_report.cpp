#include "transfer/job_report.hpp"

#include <algorithm>
#include <array>

#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kReasons = 10;  // that the receiver gets
constexpr auto kBetweenWakes = std::chrono::milliseconds(200);

std::string entries_of(const Unset& unset) {
    const std::uint64_t n = unset.count();
    if (n == unset.files) return counted(n, "file", "files");
    if (n == unset.directories) return counted(n, "directory", "directories");
    if (n == unset.links) return counted(n, "link", "links");
    return counted(n, "entry", "entries");
}

}  // namespace

Progress JobReport::progress() const {
    const Lock lock(mutex_);
    return progress_;
}

Outcome JobReport::outcome() const {
    const Lock lock(mutex_);
    return outcome_;
}

bool JobReport::worked() {
    ++steps_;
    peer_worked();
    const auto now = std::chrono::steady_clock::now();
    auto before = woken_.load();
    return now - before >= kBetweenWakes && woken_.compare_exchange_strong(before, now);
}

void JobReport::peer_worked() {
    edit([](Progress& progress, Outcome&) { ++progress.steps; });
}

void JobReport::set_place(PlaceOf place) {
    const Lock lock(mutex_);
    place_ = std::move(place);
}

void JobReport::landed(const std::string& path, std::uint64_t bytes) const {
    if (tell_) tell({.path = path, .bytes = bytes, .result = FileEvent::Result::delivered, .reason = {}});
}

void JobReport::sent(const std::string& path, std::uint64_t bytes, std::optional<std::size_t> source) const {
    if (tell_) tell({.path = path, .bytes = bytes, .result = FileEvent::Result::sent, .reason = {}}, source);
}

void JobReport::cut_off(const std::string& path, const Error& why) const {
    if (tell_) tell({.path = path, .result = FileEvent::Result::failed, .code = why.code, .reason = why.message});
}

void JobReport::tell(FileEvent event, std::optional<std::size_t> source) const {
    PlaceOf place_of;
    {
        const Lock lock(mutex_);
        place_of = place_;
    }
    event.direction = direction_;
    const std::string place = place_of ? place_of(event.path, source) : "";
    if (!place.empty()) event.path = event.path.empty() ? place : place + '/' + event.path;
    tell_(event);
}

void JobReport::fail(FailedFile failure) {
    if (tell_) cut_off(failure.path, {failure.code, failure.reason});
    const Lock lock(mutex_);
    ++outcome_.failed_count;
    if (outcome_.failed.size() < kMaxListedFailures) outcome_.failed.push_back(std::move(failure));
}

void JobReport::omit(std::string reason) {
    const Lock lock(mutex_);
    ++unannounced_;
    if (reasons_.size() < kReasons) reasons_.push_back(std::move(reason));
}

std::uint64_t JobReport::unannounced() const {
    const Lock lock(mutex_);
    return unannounced_;
}

std::vector<std::string> JobReport::reasons_unannounced() const {
    const Lock lock(mutex_);
    return reasons_;
}

void JobReport::warn(std::string text) {
    const Lock lock(mutex_);
    if (outcome_.warnings.size() < kMaxListedFailures) outcome_.warnings.push_back(std::move(text));
}

void JobReport::lacks(const Unset& unset) {
    const Lock lock(mutex_);
    add(outcome_.unset, unset);
}

std::string counted(std::uint64_t number, const char* one, const char* more) {
    return std::to_string(number) + ' ' + (number == 1 ? one : more);
}

Result<void> status_from_failures(const Outcome& outcome) {
    if (outcome.failed_count == 0) {
        if (outcome.unset.empty()) return {};
        return Error{ErrorCode::partial, describe(outcome.unset.front())};
    }
    const bool nothing = outcome.files + outcome.links + outcome.unchanged + outcome.skipped == 0;
    if (nothing && !outcome.failed.empty()) {
        const FailedFile& first = outcome.failed.front();
        // These two codes are of a file, not of a transfer.
        const bool of_file = first.code == ErrorCode::changed || first.code == ErrorCode::not_sent;
        return Error{of_file ? ErrorCode::partial : first.code, first.reason, first.system_error};
    }
    std::string text = std::to_string(outcome.failed_count) + " of the entries could not be delivered";
    if (!outcome.failed.empty()) {
        text += "; first: '" + escape_name(outcome.failed.front().path) + "': " + outcome.failed.front().reason;
    }
    return Error{ErrorCode::partial, std::move(text)};
}

void LateWaker::set(proto::Waker waker) {
    const Lock lock(mutex_);
    waker_ = std::move(waker);
    if (waker_ && std::exchange(missed_, false)) waker_();
}

void LateWaker::wake() {
    const Lock lock(mutex_);
    if (waker_) {
        waker_();
    } else {
        missed_ = true;
    }
}

std::string_view to_string(Phase phase) noexcept {
    constexpr std::array<std::string_view, 5> kNames{"connect", "transfer", "flush", "verify", "done"};
    static_assert(static_cast<std::size_t>(Phase::done) + 1 == kNames.size());
    return kNames[static_cast<std::size_t>(phase)];
}

std::string describe(const Unset& unset) {
    const std::string entries = entries_of(unset);
    const std::string first = ", first '" + escape_name(unset.first) + "': " + escape_line(unset.reason);
    const auto could_not = [&](const char* what) { return what + (" of " + entries) + " could not be set" + first; };
    switch (unset.what) {
        case Belonging::owner:
            return could_not("owner");
        case Belonging::mode:
            return could_not("mode");
        case Belonging::time:
            return could_not("modification time");
        case Belonging::attributes:
            return could_not("extended attributes");
        case Belonging::hard_link:
            break;
    }
    return "another name could not be made of " + entries + ", which came as copies" + first;
}

void add(std::vector<Unset>& all, const Unset& more) {
    const auto same_kind = [&](const Unset& unset) { return unset.what == more.what; };
    const auto at = std::find_if(all.begin(), all.end(), same_kind);
    if (at == all.end()) return all.push_back(more);
    at->files += more.files;
    at->directories += more.directories;
    at->links += more.links;
}

}  // namespace udtx::transfer

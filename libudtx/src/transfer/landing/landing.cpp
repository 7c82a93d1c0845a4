#include "transfer/landing/landing.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

void LandingLinks::answer(message::Answer answer) const {
    feedback.edit([&](ReceiveFeedback::News& news) { news.answers.push_back(std::move(answer)); });
}

void LandingLinks::erased(const std::string& path) const {
    report.edit([](Progress&, Outcome& outcome) { ++outcome.erased; });
    feedback.edit([&](ReceiveFeedback::News& news) { news.erased.push_back(path); });
}

void LandingLinks::note(const std::string& text) const {
    report.warn(text);
    feedback.edit([&](ReceiveFeedback::News& news) { news.notes.push_back(text); });
}

void LandingLinks::failed(std::uint64_t index, const std::string& path, const Error& error) const {
    report.fail({path, error.code, error.message});
    // The sender knows its own failures.
    if (error.code == ErrorCode::partial) return;
    feedback.edit([&](ReceiveFeedback::News& news) {
        const auto code = static_cast<std::uint64_t>(close_code_for(error.code));
        news.failed.push_back({index, code, path, error.message});
    });
}

void LandingLinks::unchanged(EntryType type) const {
    report.edit([type](Progress& progress, Outcome& outcome) {
        ++(type == EntryType::directory ? outcome.unchanged_directories : outcome.unchanged);
        if (has_content(type)) ++progress.files_done;
    });
}

void LandingLinks::skipped(EntryType type) const {
    report.edit([type](Progress& progress, Outcome& outcome) {
        ++outcome.skipped;
        if (has_content(type)) ++progress.files_done;
    });
}

bool LandingLinks::checked(std::uint64_t bytes) const {
    report.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += bytes; });
    if (report.worked()) wake();
    return !queue.closed();
}

void LandingLinks::wake() const {
    feedback.edit([](ReceiveFeedback::News&) {});
}

void LandingLinks::confirm(const message::Confirm& confirm) const {
    feedback.edit([&](ReceiveFeedback::News& news) { news.confirm = confirm; });
}

void LandingLinks::fatal(const Error& error) const {
    feedback.edit([&](ReceiveFeedback::News& news) { news.fatal = error; });
}

BasisOptions TreeRights::basis_options(const message::Offer& offer) const {
    const std::uint32_t bits = !offer.preserve ? 0 : keeps_set_id(offer) ? mode_bits::kAll : mode_bits::kPermissions;
    return {offer.hash, std::min(offer.overwrite, overwrite), offer.by_digest, bits, offer.dry_run};
}

std::uint64_t random_number() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

bool holds_anything(const ConfinedDir& directory) {
    int error = 0;
    // A directory that cannot be read may hold something.
    return holds_anything(names_in(directory.fd(), error)) || error != 0;
}

bool holds_anything(const std::vector<std::string>& names) {
    return !std::all_of(names.begin(), names.end(), [](const std::string& name) { return is_transfer_file(name); });
}

message::Totals totals_of(const JobReport& report) {
    const Outcome outcome = report.outcome();
    return {outcome.files,
            outcome.directories,
            outcome.links,
            outcome.bytes,
            outcome.sent_bytes,
            outcome.failed_count,
            outcome.unchanged,
            outcome.skipped,
            outcome.erased,
            report.progress().files_done,
            outcome.unchanged_directories};
}

}  // namespace udtx::transfer

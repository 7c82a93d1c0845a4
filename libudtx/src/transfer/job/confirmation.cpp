#include "transfer/job/confirmation.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/job/send_job.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

Result<void> Confirmation::take(const Message& message) {
    if (const auto* failed = std::get_if<message::FileFailed>(&message)) return on_failure(*failed);
    if (const auto* confirm = std::get_if<message::Confirm>(&message)) return on_confirm(*confirm);
    if (const auto* erased = std::get_if<message::Erased>(&message)) return on_erased(*erased);
    if (const auto* job = std::get_if<message::Job>(&message)) return on_job(*job);
    if (const auto* answer = std::get_if<message::Answer>(&message)) {
        damaged_ += answer->damaged;
        return reading_.answers().add(*answer);
    }
    if (const auto* accept = std::get_if<message::Accept>(&message)) {
        if (accept->version >= kOldestTransferVersion) return {};
        return broken(kTooOld);
    }
    if (const auto* delivered = std::get_if<message::Delivered>(&message)) {
        note(delivered->totals);
        report_.peer_worked();
    } else if (const auto* stopped = std::get_if<message::Stopped>(&message)) {
        on_stopped(*stopped);
    } else if (const auto* resume = std::get_if<message::Resume>(&message)) {
        on_resume(*resume);
    } else if (const auto* load = std::get_if<message::Load>(&message)) {
        report_.edit([&](Progress& progress, Outcome&) {
            progress.receiver = {static_cast<double>(load->disk) / 1e3, static_cast<double>(load->cpu) / 1e3};
        });
    } else if (const auto* note = std::get_if<message::Note>(&message)) {
        report_.warn("receiver: " + escape_line(note->text));
    } else if (const auto* unset = std::get_if<message::Unset>(&message)) {
        report_.lacks(unset->entries);
    } else {
        return broken("the receiver sent a sender's message");
    }
    return {};
}

Result<void> Confirmation::on_failure(const message::FileFailed& m) {
    ++failures_;
    if (ReceiptWriter* receipt = writer_of(options_.receipt)) receipt->note(m);
    // A late failure, from the committer, does not concern the file that is being read.
    if (m.index != kNoEntry && m.index >= latest_failure_) {
        latest_failure_ = m.index;
        reading_.skip(m.index);
    }
    report_.fail({m.path, error_code_for(m.code), "receiver: " + m.reason});
    return {};
}

void Confirmation::note(const message::Totals& totals) {
    report_.edit([&](Progress& progress, Outcome& outcome) {
        outcome.erased = totals.erased;
        if (options_.what.dry_run) return;
        progress.files_done = totals.files_done;
        progress.bytes_done = totals.written_bytes;
        const bool all = totals.files_done + totals.failures >= progress.files_total;
        if (progress.phase == Phase::flush && all) progress.phase = Phase::verify;
        outcome.files = totals.files;
        outcome.directories = totals.directories;
        outcome.links = totals.links;
        outcome.bytes = totals.bytes;
        outcome.sent_bytes = totals.written_bytes;
        outcome.unchanged = totals.unchanged;
        outcome.unchanged_directories = totals.unchanged_directories;
        outcome.skipped = totals.skipped;
    });
}

Result<void> Confirmation::check_counts(const message::Totals& totals) const {
    if (totals.erased > 0 && !options_.what.erase) return broken("the receiver deleted something without a request");
    if (options_.what.dry_run) return {};
    const bool all_well = totals.failures == 0 && sent_->unsent == 0 && report_.outcome().failed_count == 0;
    if (reading_.stream()) {
        const bool whole = totals.files == 1 && totals.bytes == sent_->data_bytes;
        if (all_well && !whole) return broken("the receiver confirmed another size than that of the stream");
        return {};
    }
    const std::uint64_t files = report_.progress().files_total;
    const std::uint64_t others = reading_.others();
    if (totals.files_done > files || totals.files > files) {
        return broken("the receiver confirmed more files than were sent");
    }
    if (totals.directories > others || totals.links > others - totals.directories) {
        return broken("the receiver confirmed more directories and links than were sent");
    }
    if (!all_well) return {};
    if (totals.files_done < files) return broken("the receiver confirmed fewer files than were sent");
    // Each entry was delivered, was unchanged, or was skipped.
    const auto at_most_all = [&](std::uint64_t count) { return std::min(count, files + others); };
    const std::uint64_t settled =
        at_most_all(totals.unchanged) + at_most_all(totals.unchanged_directories) + at_most_all(totals.skipped);
    if (totals.files + totals.directories + totals.links + settled < files + others) {
        return broken("the receiver confirmed fewer entries than were sent");
    }
    return {};
}

Result<void> Confirmation::on_confirm(const message::Confirm& m) {
    if (!sent_) return broken("the receiver confirmed before everything was sent");
    if (auto checked = check_counts(m.totals); !checked) return checked;
    note(m.totals);
    confirmed_ = true;
    report_.edit([&](Progress& progress, Outcome& outcome) {
        outcome.exact = true;
        if (m.totals.failures == 0) progress.bytes_done = progress.bytes_total = m.totals.written_bytes;
    });
    warn_of(m.totals);
    const Outcome outcome = report_.outcome();
    if (m.totals.failures == 0 && failures_ == 0 && m.root != sent_->root) {
        last_word_ = Error{ErrorCode::integrity,
                           "the receiver's root digest " + m.root.hex() + " differs from ours, " + sent_->root.hex()};
    } else if (m.totals.failures != 0 && outcome.failed_count == 0) {
        last_word_ = broken("the receiver counts failures that it did not report");
    } else {
        last_word_ = status_from_failures(outcome);
    }
    return {};
}

void Confirmation::warn_of(const message::Totals& totals) {
    if (damaged_ > 0) {
        report_.warn("receiver: " + counted(damaged_, "piece of the earlier run was damaged on disk and was sent again",
                                            "pieces of the earlier run were damaged on disk and were sent again"));
    }
    // The receiver reports the number of deletions; without errors, zero needs no explanation.
    const bool errors = totals.failures != 0 || sent_->unsent != 0;
    // The receiver reports a deletion that it refuses as a failure of the destination itself.
    const auto failed = report_.outcome().failed;
    const bool refused = failed.size() == 1 && failed.front().path == ".";
    if (options_.what.erase && errors && !refused && totals.erased == 0) {
        report_.warn("the receiver deleted nothing, because of errors");
    }
}

void Confirmation::on_stopped(const message::Stopped& m) {
    note(m.totals);
    report_.edit([](Progress&, Outcome& outcome) { outcome.exact = true; });
    last_word_ = Error{error_code_for(m.code), "receiver: " + escape_line(m.reason)};
}

void Confirmation::on_resume(const message::Resume& m) {
    if (!m.note.empty()) report_.warn("receiver: " + escape_line(m.note));
    report_.edit([&](Progress&, Outcome& outcome) { outcome.continues = m.keeps; });
    reading_.answers().decide(m);
}

Result<void> Confirmation::on_job(const message::Job& m) {
    if (!options_.what.shard || m.done > options_.what.shard->count)
        return broken("the state of a job that does not exist");
    if (ReceiptWriter* receipt = writer_of(options_.receipt)) receipt->note(m);
    const JobShard& shard = *options_.what.shard;
    const JobState state{.run = m.run,
                         .index = shard.index,
                         .count = shard.count,
                         .done = static_cast<std::size_t>(m.done),
                         .waiting = m.waiting};
    report_.edit([&](Progress&, Outcome& outcome) { outcome.job = state; });
    return {};
}

Result<void> Confirmation::on_erased(const message::Erased& m) {
    if (!options_.what.erase) return broken("the receiver deleted something without a request");
    for (const std::string& path : m.paths) {
        if (options_.planned) options_.planned(erased_entry(path));
    }
    return {};
}

}  // namespace udtx::transfer

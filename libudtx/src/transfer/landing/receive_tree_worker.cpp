#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/landing/receive_worker.hpp"
#include "transfer/names.hpp"
#include "transfer/resume/leftovers.hpp"
#include "transfer/resume/resume_journal.hpp"

namespace udtx::transfer {

namespace {

bool is_file(EntryType type) { return type == EntryType::file || type == EntryType::hard_link; }

/// Counts for the final confirmation, kept on two threads: hence in the report and the feedback, under their locks.
TreeWriterCallbacks callbacks_for(const WorkerLinks& links) {
    TreeWriterCallbacks out;
    out.delivered = [&links](const Commit& commit) {
        links.report.edit([&](Progress& progress, Outcome& outcome) {
            if (commit.type == EntryType::directory) ++outcome.directories;
            if (commit.type == EntryType::symlink) ++outcome.links;
            if (!is_file(commit.type)) return;
            ++outcome.files;
            outcome.bytes += commit.size;
            if (commit.kept) ++outcome.kept_files;
            if (commit.kept) outcome.kept_file_bytes += commit.size;
            ++progress.files_done;
        });
        links.feedback.edit([](ReceiveFeedback::News&) {});  // for DELIVERED
    };
    out.failed = [&links](std::uint64_t index, const std::string& path, const Error& error) {
        hand_over_failure(links, index, path, error);
    };
    out.kept = [&links](std::uint64_t bytes) {
        links.report.edit([&](Progress&, Outcome& outcome) { outcome.kept_bytes += bytes; });
    };
    out.unchanged = [&links](EntryType type) { count_unchanged(links.report, type); };
    out.skipped = [&links](EntryType type) { count_skipped(links.report, type); };
    out.erased = [&links](const std::string& path) { hand_over_erased(links, path); };
    out.noted = [&links](const std::string& text) {
        links.report.warn(text);
        links.feedback.edit([&](ReceiveFeedback::News& news) { news.notes.push_back(text); });
    };
    out.checked = [&links](std::uint64_t bytes) {
        links.report.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += bytes; });
        return !links.queue.closed();
    };
    out.fatal = [&links](const Error& error) {
        links.feedback.edit([&](ReceiveFeedback::News& news) { news.fatal = error; });
    };
    return out;
}

class TreeWorker {
  public:
    TreeWorker(TreeWriter& writer, bool answering, const WorkerLinks& links)
        : writer_(writer), answering_(answering), links_(links) {}

    void operator()(const op::BeginEntry& o) { writer_.begin_entry(o.entry); }
    void operator()(const op::WritePiece& o) {
        const std::uint64_t length = o.piece.piece.length;
        writer_.write_piece(o.piece);
        links_.report.edit([&](Progress& progress, Outcome& outcome) {
            progress.bytes_done = outcome.sent_bytes = writer_.written();
            if (std::string name = writer_.path_of(o.piece.piece.file); !name.empty()) {
                progress.current_name = std::move(name);
            }
        });
        links_.feedback.edit([&](ReceiveFeedback::News& news) { news.released_bytes += length; });
    }
    void operator()(const op::CheckDigests& o) { writer_.check_digests(o.digests); }
    void operator()(const op::Query& o) {
        writer_.answer(o.query, [this](message::Answer answer) {
            if (answering_) hand_over(links_, std::move(answer));
        });
    }
    void operator()(const op::Meta& o) { writer_.set_meta(o.meta); }
    void operator()(const op::Rules& o) { writer_.add_rules(o.rules); }
    void operator()(const op::KeepPieces& o) { writer_.keep_pieces(o.index, o.extent, o.first_ordinal); }
    void operator()(const op::Hole& o) { writer_.make_hole(o.index, o.extent); }
    void operator()(const op::EndFile& o) { writer_.end_file(o.end, o.pieces); }
    void operator()(const op::StreamBytes& /*o*/) {}
    void operator()(const op::Finish& o) {
        links_.report.edit([](Progress& progress, Outcome&) { progress.phase = Phase::flush; });
        const Digest root = writer_.finish([&] { return may_erase(o.finish); });
        tell_written();
        if (root != o.finish.root) {
            links_.feedback.edit([](ReceiveFeedback::News& news) {
                news.fatal = Error{ErrorCode::integrity, "the root digests of the two ends differ"};
            });
            return;
        }
        const message::Confirm confirm{totals_of(links_.report), root};
        links_.feedback.edit([&](ReceiveFeedback::News& news) { news.confirm = confirm; });
    }

    void tell_written() {
        links_.report.edit([this](Progress& progress, Outcome& outcome) {
            progress.bytes_done = outcome.sent_bytes = writer_.written();
        });
    }

  private:
    /// A sender that could not read a directory does not know what is in it.
    [[nodiscard]] bool may_erase(const message::Finish& finish) const {
        const bool well = finish.unsent == 0 && links_.report.outcome().failed_count == 0 && !links_.queue.closed();
        if (!well) links_.report.warn("--delete: nothing was deleted, since not everything arrived");
        return well;
    }

    TreeWriter& writer_;
    bool answering_;
    const WorkerLinks& links_;
};

/// Of the earlier runs; null: nothing, and nothing will be. `note` is for the user.
std::unique_ptr<ResumeJournal> open_journal(const ConfinedDir& root, const message::Offer& offer, bool resume,
                                            const WorkerLinks& links, std::string& note) {
    if (offer.transfer == 0) return nullptr;
    ResumeJournal::Opened opened;
    auto own_root = root.make_subdirectory("");
    if (resume && own_root) {
        opened = ResumeJournal::open(std::move(own_root).value(), offer.transfer, offer.hash, [&links] {
            links.feedback.edit([](ReceiveFeedback::News& news) {
                news.fatal = Error{ErrorCode::refused, "the same transfer was begun anew"};
            });
        });
    } else if (!own_root) {
        opened.note = "no resume: " + own_root.error().message;
    } else {
        opened.note = "no resume: the receiver runs with --no-resume";
    }
    note = std::move(opened.note);
    return std::move(opened.journal);
}

void say(std::string& notes, const std::string& note) { notes += (notes.empty() ? "" : "; ") + note; }

std::uint64_t random_number() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

}  // namespace

bool holds_anything(const ConfinedDir& directory) {
    int error = 0;
    return holds_anything(names_in(directory.fd(), error));
}

bool holds_anything(const std::vector<std::string>& names) {
    return !std::all_of(names.begin(), names.end(), [](const std::string& name) { return is_transfer_file(name); });
}

BasisOptions basis_options(const message::Offer& offer, const TreeRights& rights) {
    return {offer.hash, std::min(offer.overwrite, rights.overwrite), offer.by_digest, offer.preserve, offer.dry_run};
}

void count_unchanged(JobReport& report, EntryType type) {
    report.edit([type](Progress& progress, Outcome& outcome) {
        ++outcome.unchanged;
        if (is_file(type)) ++progress.files_done;
    });
}

void count_skipped(JobReport& report, EntryType type) {
    report.edit([type](Progress& progress, Outcome& outcome) {
        ++outcome.skipped;
        if (is_file(type)) ++progress.files_done;
    });
}

void hand_over(const WorkerLinks& links, message::Answer answer) {
    links.feedback.edit_when_taken([&](ReceiveFeedback::News& news) { news.answers.push_back(std::move(answer)); },
                                   [&] { return links.queue.closed(); });
}

void hand_over_erased(const WorkerLinks& links, const std::string& path) {
    links.report.edit([](Progress&, Outcome& outcome) { ++outcome.erased; });
    links.feedback.edit_when_taken([&](ReceiveFeedback::News& news) { news.erased.push_back(path); },
                                   [&] { return links.queue.closed(); });
}

void hand_over_failure(const WorkerLinks& links, std::uint64_t index, const std::string& path, const Error& error) {
    links.report.fail({path, error.code, error.message});
    // What failed at the sender is known there.
    if (error.code == ErrorCode::partial) return;
    links.feedback.edit([&](ReceiveFeedback::News& news) {
        const auto code = static_cast<std::uint64_t>(close_code_for(error.code));
        news.failed.push_back({index, code, path, error.message});
    });
}

message::Totals totals_of(const JobReport& report) {
    const Outcome outcome = report.outcome();
    return {outcome.files,        outcome.directories, outcome.links,   outcome.bytes,  outcome.sent_bytes,
            outcome.failed_count, outcome.unchanged,   outcome.skipped, outcome.erased, report.progress().files_done};
}

void run_tree_worker(const ConfinedDir& base, const message::Offer& offer, const TreeRights& rights,
                     const WorkerLinks& links) {
    auto root = base.make_subdirectory(join_path(offer.destination));
    if (!root) {
        links.feedback.edit([&](ReceiveFeedback::News& news) { news.fatal = root.error(); });
        return;
    }
    mark_in_use(*root);
    std::string notes;
    const auto journal = open_journal(*root, offer, rights.resume, links, notes);
    const BasisOptions basis = basis_options(offer, rights);
    const bool owner = offer.owner && ::geteuid() == 0;
    if (offer.owner && !owner) say(notes, "owner and group are left: the receiver does not run as root");
    const bool stricter = basis.overwrite < offer.overwrite;
    if (stricter && basis.overwrite == Overwrite::never) say(notes, "the receiver runs with --overwrite never");
    if (!notes.empty()) links.report.warn(notes);
    const bool resumes = journal && !journal->earlier().empty();
    int ignored = 0;
    const std::vector<std::string> names = names_in(root->fd(), ignored);
    if (const auto old = remove_old_journals(*root, names, kKeepLeftoversDays); old > 0) {
        links.report.warn("removed what " + std::to_string(old) + (old == 1 ? " transfer" : " transfers") +
                          " had left here for another run, more than " + std::to_string(kKeepLeftoversDays) +
                          " days ago");
    }
    const bool occupied = holds_anything(names);
    const bool active = resumes || (basis.overwrite != Overwrite::always && occupied);
    const bool keeps = journal != nullptr;
    links.feedback.edit([&](ReceiveFeedback::News& news) {
        news.resume = message::Resume{active, notes, rights.announce_all, keeps};
    });
    links.report.edit([&](Progress&, Outcome& outcome) { outcome.continues = keeps; });
    TreeWriterOptions options{offer.preserve,  offer.hash,   random_number(), journal.get(), basis.overwrite,
                              basis.by_digest, offer.sparse, owner,           offer.erase,   occupied};
    TreeWriter writer(std::move(root).value(), options, callbacks_for(links));
    TreeWorker worker(writer, active, links);
    while (auto next = links.queue.pop()) {
        const WorkClock::Shift shift(links.work);
        std::visit(worker, *next);
    }
    writer.abandon();
    worker.tell_written();
}

}  // namespace udtx::transfer

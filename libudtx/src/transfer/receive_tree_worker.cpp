#include <memory>
#include <random>
#include <utility>

#include "transfer/close_codes.hpp"
#include "transfer/names.hpp"
#include "transfer/receive_worker.hpp"
#include "transfer/resume_journal.hpp"

namespace udtx::transfer {

namespace {

/// Counts for the final confirmation, kept on two threads: hence in the report and the feedback, under their locks.
TreeWriterCallbacks callbacks_for(const WorkerLinks& links) {
    TreeWriterCallbacks out;
    out.delivered = [&links](const Commit& commit) {
        links.report.edit([&](Progress& progress, Outcome& outcome) {
            if (commit.type == EntryType::directory) ++outcome.directories;
            if (commit.type == EntryType::symlink) ++outcome.links;
            if (commit.type != EntryType::file) return;
            ++outcome.files;
            outcome.bytes += commit.size;
            progress.files_done = outcome.files;
        });
        links.feedback.edit([](ReceiveFeedback::News&) {});  // for DELIVERED
    };
    out.failed = [&links](std::uint64_t index, const std::string& path, const Error& error) {
        links.report.fail({path, error.code, error.message});
        // What failed at the sender is known there.
        if (error.code == ErrorCode::partial) return;
        links.feedback.edit([&](ReceiveFeedback::News& news) {
            const auto code = static_cast<std::uint64_t>(close_code_for(error.code));
            news.failed.push_back({index, code, path, error.message});
        });
    };
    out.kept = [&links](std::uint64_t bytes) {
        links.report.edit([&](Progress&, Outcome& outcome) { outcome.kept_bytes += bytes; });
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
    TreeWorker(TreeWriter& writer, const WorkerLinks& links) : writer_(writer), links_(links) {}

    void operator()(const op::BeginEntry& o) { writer_.begin_entry(o.entry); }
    void operator()(const op::WritePiece& o) {
        writer_.write_piece(o.piece);
        const std::uint64_t length = o.piece.piece.length;
        written_ += length;
        links_.report.edit([&](Progress& progress, Outcome& outcome) {
            progress.bytes_done = written_;
            outcome.sent_bytes = written_;
            if (std::string name = writer_.path_of(o.piece.piece.file); !name.empty()) {
                progress.current_name = std::move(name);
            }
        });
        links_.feedback.edit([&](ReceiveFeedback::News& news) { news.released_bytes += length; });
    }
    void operator()(const op::CheckDigests& o) { writer_.check_digests(o.digests); }
    void operator()(const op::Query& o) {
        writer_.answer(o.query, [this](message::Answer answer) {
            links_.feedback.edit([&](ReceiveFeedback::News& news) { news.answers.push_back(std::move(answer)); });
        });
    }
    void operator()(const op::KeepPieces& o) { writer_.keep_pieces(o.index, o.extent, o.first_ordinal); }
    void operator()(const op::Hole& o) { writer_.make_hole(o.index, o.extent); }
    void operator()(const op::EndFile& o) { writer_.end_file(o.end, o.pieces); }
    void operator()(const op::StreamBytes& /*o*/) {}
    void operator()(const op::Finish& o) {
        links_.report.edit([](Progress& progress, Outcome&) { progress.phase = Phase::flush; });
        const Digest root = writer_.finish();
        if (root != o.finish.root) {
            links_.feedback.edit([](ReceiveFeedback::News& news) {
                news.fatal = Error{ErrorCode::integrity, "the root digests of the two ends differ"};
            });
            return;
        }
        const Outcome outcome = links_.report.outcome();
        const message::Confirm confirm{
            {outcome.files, outcome.directories, outcome.links, outcome.bytes, written_, outcome.failed_count}, root};
        links_.feedback.edit([&](ReceiveFeedback::News& news) { news.confirm = confirm; });
    }

  private:
    TreeWriter& writer_;
    const WorkerLinks& links_;
    std::uint64_t written_ = 0;
};

/// Tells the sender what there is to resume; null: nothing, and nothing will be.
std::unique_ptr<ResumeJournal> open_journal(const ConfinedDir& root, const message::Offer& offer, bool resume,
                                            const WorkerLinks& links) {
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
    if (!opened.note.empty()) links.report.warn(opened.note);
    const bool active = opened.journal && !opened.journal->earlier().empty();
    links.feedback.edit([&](ReceiveFeedback::News& news) { news.resume = message::Resume{active, opened.note}; });
    return std::move(opened.journal);
}

std::uint64_t random_number() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

}  // namespace

void run_tree_worker(const ConfinedDir& base, const message::Offer& offer, bool resume, const WorkerLinks& links) {
    auto root = base.make_subdirectory(join_path(offer.destination));
    if (!root) {
        links.feedback.edit([&](ReceiveFeedback::News& news) { news.fatal = root.error(); });
        return;
    }
    const auto journal = open_journal(*root, offer, resume, links);
    TreeWriter writer(std::move(root).value(), {offer.preserve, offer.hash, random_number(), journal.get()},
                      callbacks_for(links));
    TreeWorker worker(writer, links);
    while (auto next = links.queue.pop()) {
        const WorkClock::Shift shift(links.work);
        std::visit(worker, *next);
    }
    writer.abandon();
}

}  // namespace udtx::transfer

#include "transfer/landing/tree_landing.hpp"

#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/landing/shard_pulse.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"
#include "transfer/old/leftovers.hpp"
#include "transfer/shard/job_file.hpp"

namespace udtx::transfer {

namespace {

/// Counts for the final confirmation. Two threads call these, so the counts are kept in the report and the feedback,
/// under their locks.
TreeWriterCallbacks callbacks_for(const LandingLinks& links) {
    TreeWriterCallbacks out;
    out.delivered = [&links](const Commit& commit) {
        // An earlier run has reported what was kept.
        if (commit.type != EntryType::directory && !commit.kept && !commit.part_only) {
            links.report.landed(commit.path(), commit.size);
        }
        links.report.edit([&](Progress& progress, Outcome& outcome) {
            if (commit.type == EntryType::directory) ++outcome.directories;
            if (commit.type == EntryType::symlink) ++outcome.links;
            if (!has_content(commit.type)) return;
            ++outcome.files;
            add_up(outcome.bytes, commit.size);
            if (commit.kept) ++outcome.kept_files;
            if (commit.kept) add_up(outcome.kept_file_bytes, commit.size);
            ++progress.files_done;
        });
        links.wake();
    };
    out.failed = [&links](std::uint64_t index, const std::string& path, const Error& error) {
        links.failed(index, path, error);
    };
    out.kept = [&links](std::uint64_t bytes) {
        links.report.edit([&](Progress&, Outcome& outcome) { add_up(outcome.kept_bytes, bytes); });
    };
    out.unchanged = [&links](EntryType type) { links.unchanged(type); };
    out.directory_changed = [&links] {
        links.report.edit([](Progress&, Outcome& outcome) {
            --outcome.unchanged_directories;
            ++outcome.directories;
        });
    };
    out.skipped = [&links](EntryType type) { links.skipped(type); };
    out.erased = [&links](const std::string& path) { links.erased(path); };
    out.noted = [&links](const std::string& text) { links.note(text); };
    out.checked = [&links](std::uint64_t bytes) { return links.checked(bytes); };
    out.unset = [&links](EntryType type, Belonging what, const std::string& path, int error_number) {
        Unset unset{what,
                    has_content(type) ? 1U : 0U,
                    type == EntryType::directory ? 1U : 0U,
                    type == EntryType::symlink ? 1U : 0U,
                    path.empty() ? "." : path,
                    std::generic_category().message(error_number)};
        links.report.lacks(unset);
    };
    out.fatal = [&links](const Error& error) { links.fatal(error); };
    return out;
}

// Sources are few. The content of one may have many directories, of which some suffice.
constexpr std::size_t kMostTops = 16;

class TreeLanding final : public Landing {
  public:
    TreeLanding(const ConfinedDir& base, message::Offer offer, const TreeRights& rights, const LandingLinks& links)
        : base_(base), offer_(std::move(offer)), rights_(rights), links_(links) {}
    ~TreeLanding() override {
        if (!writer_) {
            if (root_ && root_mode_) static_cast<void>(set_mode(root_->fd(), *root_mode_));
            return;
        }
        writer_->abandon();
        tell_written();
    }

    bool begun() override;
    void take(ReceiveOp op) override {
        if (writer_) std::visit(*this, op);
    }
    bool go_on() override {
        if (waiting_) return write_waiting();
        if (keeping_) return keep_piece();
        if (finish_) return finish_more();
        return writer_ && writer_->go_on_answering([this](message::Answer answer) { tell(std::move(answer)); });
    }

    [[nodiscard]] std::uint64_t held() const override { return writer_ ? writer_->held() : 0; }

    void operator()(const op::BeginEntry& o) {
        const bool in_directory = o.entry.path.size() > 1 || o.entry.type == EntryType::directory;
        if (job_ && in_directory && !o.entry.path.empty() && tops_.size() < kMostTops) {
            tops_.insert(o.entry.path.front());
        }
        writer_->begin_entry(o.entry);
    }
    void operator()(op::WritePiece& o) {
        if (must_look(o.piece.piece.file, o.piece.piece.length)) {
            waiting_ = std::move(o);
        } else {
            write(o);
        }
    }
    void write(const op::WritePiece& o) {
        const std::uint64_t length = o.piece.piece.length;
        writer_->write_piece(o.piece);
        links_.report.edit([&](Progress& progress, Outcome& outcome) {
            progress.bytes_done = outcome.sent_bytes = writer_->written();
            if (std::string name = writer_->path_of(o.piece.piece.file); !name.empty()) {
                progress.current_name = std::move(name);
            }
        });
        links_.feedback.note_released(length);
    }
    void operator()(const op::CheckDigests& o) { writer_->check_digests(o.digests); }
    void operator()(const op::Query& o) {
        // A file without an answer is sent and compared then.
        if (!answering_) return;
        writer_->answer(o.query, [this](message::Answer answer) { tell(std::move(answer)); });
    }
    void operator()(const op::Meta& o) { writer_->set_meta(o.meta); }
    void operator()(const op::Rules& o) { writer_->add_rules(o.rules); }
    void operator()(const op::Unsent& o) { writer_->note_unsent(o.unsent); }
    void operator()(const op::KeepPieces& o) { keeping_ = o; }
    void operator()(const op::Hole& o) { writer_->make_hole(o.index, o.extent); }
    void operator()(const op::EndFile& o) { writer_->end_file(o.end, o.pieces); }
    void operator()(const op::StreamBytes& /*o*/) {}
    void operator()(const op::Finish& o) {
        links_.report.edit([](Progress& progress, Outcome&) { progress.phase = Phase::flush; });
        finish_ = o.finish;
    }

  private:
    /// Prepares to open the journal. Another job may have to release it first.
    void open_journal();
    /// False: the other shards of the job do not allow this one.
    [[nodiscard]] bool may_join();
    /// Opens what the shards of the job share. False: this shard must not begin.
    [[nodiscard]] bool open_job();
    void begin();
    /// True if a look at the disk is needed: something may have made room in the quota since the last one, and the
    /// piece must not be refused before.
    bool must_look(std::uint64_t index, std::uint64_t piece) {
        if (std::exchange(looked_, false)) return false;
        const std::uint64_t missing = writer_->missing_in_quota(index, piece);
        if (missing > 0) look_.emplace(rights_.room.quota, missing);
        return missing > 0;
    }
    /// Continues the look at the disk. False: it is not complete yet.
    bool has_looked() {
        const auto over = look_->go_on(base_);
        if (over && !*over) return false;
        if (!over && !std::exchange(look_failed_, true)) links_.note(over.error().message);
        look_.reset();
        return looked_ = true;
    }
    bool write_waiting() {
        const op::WritePiece piece = std::move(*waiting_);
        waiting_.reset();
        looked_ = false;
        write(piece);
        return true;
    }
    /// Takes one piece at a call, because it may have to be copied.
    bool keep_piece() {
        op::KeepPieces& rest = *keeping_;
        if (must_look(rest.index, piece_length(rest.extent.offset, rest.extent.length))) return true;
        const Extent piece{rest.extent.offset, piece_length(rest.extent.offset, rest.extent.length)};
        writer_->keep_pieces(rest.index, piece, rest.first_ordinal++);
        rest.extent.offset += piece.length;
        rest.extent.length -= piece.length;
        if (rest.extent.length == 0) keeping_.reset();
        return true;
    }
    bool finish_more() {
        const auto root =
            writer_->finish([this] { return may_erase(*finish_); }, [this](const Digest& found) { finish_job(found); });
        if (!root) return true;
        tell_written();
        const bool same = *root == std::exchange(finish_, std::nullopt)->root;
        const message::Confirm confirm{totals_of(links_.report), *root};
        if (same && unfinished_) {
            links_.fatal(*unfinished_);
        } else if (same) {
            links_.confirm(confirm);
        } else {
            links_.fatal({ErrorCode::integrity, "the root digests of the two ends differ"});
        }
        return false;
    }
    /// Reports to the other shards that this one has delivered everything.
    void finish_job(const Digest& root) {
        const bool whole = root == finish_->root && finish_->unsent == 0 && links_.report.outcome().failed_count == 0;
        if (!job_) return;
        job_->add_tops(tops_);
        const Outcome outcome = links_.report.outcome();
        const bool unchanged = outcome.files + outcome.links + outcome.directories + outcome.erased == 0;
        const auto state = whole ? job_->finish(unchanged) : job_->state();
        if (!state) {
            if (whole) unfinished_ = state.error();
            return;
        }
        tell_job(*state);
        if (!whole) return;
        pulse_->finish();
        job_->remove();
    }
    void tell_job(const JobState& state) {
        links_.report.edit([&](Progress&, Outcome& outcome) { outcome.job = state; });
        links_.feedback.edit([&](ReceiveFeedback::News& news) {
            news.job = message::Job{state.run, state.done, state.waiting};
        });
    }
    void tell(message::Answer answer) {
        if (answering_) links_.answer(std::move(answer));
    }
    void tell_written() {
        links_.report.edit([this](Progress& progress, Outcome& outcome) {
            progress.bytes_done = outcome.sent_bytes = writer_->written();
        });
    }

    /// False if something failed: a sender that could not read a directory does not know what is in it.
    [[nodiscard]] bool may_erase(const message::Finish& finish) const {
        const Outcome outcome = links_.report.outcome();
        const bool well = finish.unsent == 0 && outcome.failed_count == 0 && !links_.queue.closed();
        // Directories were emptied before, if files arrived in their place.
        const std::string what = outcome.erased == 0 ? "nothing" : "nothing else";
        if (!well) links_.report.warn(what + " was deleted, because not everything arrived");
        return well;
    }

    const ConfinedDir& base_;
    const message::Offer offer_;
    const TreeRights rights_;
    const LandingLinks links_;
    bool opened_ = false;
    bool barred_ = false;  // the other shards of its job do not allow it
    bool answering_ = false;
    std::optional<op::WritePiece> waiting_;  // waits for the look at the disk
    std::optional<DiskQuota::Look> look_;    // while it runs
    bool looked_ = false;                    // the next piece is judged by what is known
    bool look_failed_ = false;
    std::optional<op::KeepPieces> keeping_;  // the pieces that are left
    std::optional<message::Finish> finish_;  // while finish_more() works on it
    std::string notes_;                      // for the user
    std::optional<ConfinedDir> root_;
    std::optional<std::uint32_t> root_mode_;  // the root's mode before its owner opened it up
    std::optional<ResumeJournal::Opening> opening_;
    std::set<std::string> tops_;              // directories of the root, of this shard's entries
    std::unique_ptr<JobFile> job_;            // null: no shard, or files cannot be shared
    std::optional<ShardPulse> pulse_;         // with job_
    std::optional<Error> unfinished_;         // all shards have ended, and something is missing
    std::unique_ptr<ResumeJournal> journal_;  // of the earlier runs; null: nothing is resumed or stored
    std::optional<TreeWriter> writer_;        // empty: it could not begin
};

void say(std::string& notes, const std::string& note) { notes += (notes.empty() ? "" : "; ") + note; }

}  // namespace

bool TreeLanding::begun() {
    if (writer_) return !look_ || has_looked();
    if (!std::exchange(opened_, true)) {
        auto root = base_.make_subdirectory(join_path(offer_.destination));
        if (root) {
            root_ = std::move(root).value();
            links_.report.set_place([place = join_path(offer_.destination)](const auto&, auto) { return place; });
            // Open the root up first, because the journal is created in it.
            root_mode_ = open_up(root_->fd());
            mark_in_use(*root_);
            // Opening the journal ends an older run of this shard, which must not make way for a shard that is refused.
            barred_ = !may_join();
            if (!barred_) open_journal();
        } else {
            links_.fatal(root.error());
        }
    }
    if (!root_ || barred_) return true;
    if (opening_) {
        auto opened = opening_->attempt();
        if (!opened) return false;
        journal_ = std::move(opened->journal);
        notes_ = std::move(opened->note);
        opening_.reset();
    }
    barred_ = !open_job();
    if (!barred_) begin();
    return true;
}

void TreeLanding::open_journal() {
    if (offer_.transfer == 0) return;
    auto own_root = root_->make_subdirectory("");
    if (!own_root) {
        notes_ = "no resume: " + own_root.error().message;
    } else if (!rights_.resume) {
        notes_ = "no resume: the receiver runs with --no-resume";
    } else {
        opening_.emplace(std::move(own_root).value(), offer_.transfer, offer_.hash, [&links = links_] {
            links.fatal({ErrorCode::superseded, "a newer run of the same transfer has taken over"});
        });
    }
}

bool TreeLanding::may_join() {
    if (!offer_.shard || offer_.transfer == 0 || !rights_.resume) return true;
    auto own_root = root_->make_subdirectory("");
    if (!own_root) return true;
    const auto checked = JobFile::check(std::move(own_root).value(), *offer_.shard, offer_.hash);
    if (!checked) links_.fatal(checked.error());
    return checked.ok();
}

bool TreeLanding::open_job() {
    if (!offer_.shard) return true;
    Result<std::unique_ptr<JobFile>> opened = Error{ErrorCode::file_io, "the receiver keeps nothing for other shards"};
    if (journal_) {
        auto own_root = root_->make_subdirectory("");
        opened = own_root ? JobFile::open(std::move(own_root).value(), *offer_.shard, offer_.hash, random_number() | 1U)
                          : own_root.error();
    }
    const auto state = opened ? (*opened)->state() : Result<JobState>(opened.error());
    if (!state) opened = state.error();
    if (opened) {
        tell_job(*state);
        job_ = std::move(opened).value();
        pulse_.emplace(*job_, *offer_.shard, links_, random_number() | 1U);
        return true;
    }
    const bool needed = opened.error().code == ErrorCode::refused || offer_.shard->bits_per_second > 0;
    if (needed) {
        links_.fatal(opened.error());
    } else {
        say(notes_, opened.error().message + ": files that are divided between shards fail");
    }
    return !needed;
}

void TreeLanding::begin() {
    const BasisOptions basis = rights_.basis_options(offer_);
    const bool owner = offer_.owner && ::geteuid() == 0;
    if (offer_.owner && !owner) {
        say(notes_,
            "owner and group, and set-group-ID where others may write, are not preserved: the receiver does not "
            "run as root");
    }
    const bool stricter = basis.overwrite < offer_.overwrite;
    if (stricter && basis.overwrite == Overwrite::never) say(notes_, "the receiver runs with --overwrite never");
    if (!notes_.empty()) links_.report.warn(notes_);
    const bool resumes = journal_ && (!journal_->earlier().empty() || (job_ && job_->has_parts()));
    int error = 0;
    const std::vector<std::string> names = names_in(root_->fd(), error);
    if (const auto old = remove_old_journals(*root_, names, kKeepLeftoversDays); old > 0) {
        links_.report.warn("removed what " + std::to_string(old) + (old == 1 ? " transfer" : " transfers") +
                           " had left here for another run, more than " + std::to_string(kKeepLeftoversDays) +
                           " days ago");
    }
    const bool occupied = error != 0 || holds_anything(names);  // an unreadable directory may have entries
    answering_ = resumes || (basis.overwrite != Overwrite::always && occupied);
    const bool keeps = journal_ != nullptr;
    const TreeWriterOptions options{offer_.preserve,
                                    offer_.hash,
                                    random_number(),
                                    journal_.get(),
                                    job_.get(),
                                    basis.overwrite,
                                    basis.by_digest,
                                    offer_.sparse,
                                    owner,
                                    offer_.erase,
                                    occupied,
                                    rights_.keeps_set_id(offer_),
                                    rights_.room,
                                    !rights_.keep_base || !offer_.destination.empty(),
                                    rights_.announce_all,
                                    root_mode_};
    writer_.emplace(std::move(*root_), options, callbacks_for(links_));
    links_.report.edit([&](Progress&, Outcome& outcome) { outcome.continues = keeps; });
    links_.feedback.edit([&](ReceiveFeedback::News& news) {
        news.resume = message::Resume{answering_, notes_, rights_.announce_all, keeps};
    });
}

std::unique_ptr<Landing> land_tree(const ConfinedDir& base, const message::Offer& offer, const TreeRights& rights,
                                   const LandingLinks& links) {
    return std::make_unique<TreeLanding>(base, offer, rights, links);
}

}  // namespace udtx::transfer

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/state_access.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"
#include "transfer/old/leftovers.hpp"
#include "transfer/shard/job_file.hpp"
#include "transfer/shard/job_rate.hpp"
#include "udtx/lifecycle.hpp"

namespace udtx::transfer {

namespace {

Instant pulse_now() {
    return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

/// The seconds that a shard still needs.
double left_of(const ShardSlot& slot) {
    const std::uint64_t bytes = slot.bytes_total - std::min(slot.bytes_total, slot.bytes_done);
    return static_cast<double>(bytes) * 8 / static_cast<double>(std::max<std::uint64_t>(slot.rate, 1));
}

/// Exchanges the state of a shard with the other shards of its job. It finds the shard's part of the job's rate and the
/// progress of all shards.
class ShardPulse {
  public:
    /// `report` and `job` must outlive this object. `run`: not 0, and different for each run.
    ShardPulse(JobFile& job, const JobShard& shard, LandingReport& report, std::uint64_t run);
    /// Reports to the others that this run is over.
    ~ShardPulse();
    ShardPulse(const ShardPulse&) = delete;
    ShardPulse& operator=(const ShardPulse&) = delete;

    /// Reports that everything has been delivered. Must not be called within its own task.
    void finish();
    /// Reports, after finish(), that something is missing nevertheless.
    void fail();
    /// Reads the final figures of the others, after finish().
    void look_again();

  private:
    [[nodiscard]] DiskStep step();
    void fill_in(ShardSlot& own);
    void turn(std::vector<ShardSlot>& slots);
    void tell(const std::vector<ShardSlot>& slots, const std::vector<bool>& alive);
    void measure(Instant now);
    void end(ShardSlot::State state);

    JobFile& job_;
    const JobShard shard_;
    LandingReport& report_;
    const std::uint64_t run_;
    ShardLives lives_;
    std::optional<RateClaim> claim_;
    std::uint64_t beat_ = 0;
    std::uint64_t share_ = 0;  // as reported last
    std::uint64_t arrived_ = 0;
    std::optional<Instant> measured_;
    double bits_per_second_ = 0;
    bool ended_ = false;
    DiskTask task_;  // last: it uses the members above
};

ShardPulse::ShardPulse(JobFile& job, const JobShard& shard, LandingReport& report, std::uint64_t run)
    : job_(job),
      shard_(shard),
      report_(report),
      run_(run),
      task_(
          disk_pools().sync, [this] { return step(); },
          [this](const Error& error) {
              report_.fatal(error);
              return DiskStep::over();
          }) {
    if (shard.bits_per_second > 0) claim_.emplace(shard);
    task_.wake();
}

ShardPulse::~ShardPulse() {
    try {
        if (!ended_) end(ShardSlot::State::failed);
    } catch (const std::exception&) {
        // The others notice that this shard no longer reports.
    }
}

void ShardPulse::finish() { end(ShardSlot::State::done); }

void ShardPulse::fail() { end(ShardSlot::State::failed); }

void ShardPulse::look_again() {
    static_cast<void>(
        job_.exchange([this](const std::vector<ShardSlot>& slots) { tell(slots, lives_.look(pulse_now(), slots)); }));
}

void ShardPulse::end(ShardSlot::State state) {
    ended_ = true;
    task_.end();
    static_cast<void>(job_.exchange([&](std::vector<ShardSlot>& slots) {
        ShardSlot& own = slots[shard_.index];
        // A newer run of this shard may have begun.
        if (own.run != run_ && own.run != 0) return;
        fill_in(own);
        own.state = state;
        own.claim = own.demand = own.rate = 0;
        tell(slots, lives_.look(pulse_now(), slots));
    }));
}

void ShardPulse::fill_in(ShardSlot& own) {
    own.run = run_;
    own.beat = ++beat_;
    own.state = ShardSlot::State::running;
    own.rate = static_cast<std::uint64_t>(bits_per_second_);
    report_.job.edit([&](const Progress& progress, const Outcome& outcome) {
        own.bytes_done = progress.bytes_done + outcome.kept_bytes;
        own.bytes_total = progress.bytes_total + outcome.kept_bytes;
        own.files_done = outcome.files + outcome.unchanged + outcome.skipped;
        own.failures = outcome.failed_count;
    });
}

void ShardPulse::measure(Instant now) {
    const std::uint64_t arrived = report_.arrived();
    if (measured_ && now > *measured_) {
        const double passed = to_seconds(now - *measured_);
        const double rate = static_cast<double>(arrived - arrived_) * 8 / passed;
        const double weight = 1 - std::exp(-passed / to_seconds(kShardRateTime));
        bits_per_second_ += weight * (rate - bits_per_second_);
    }
    measured_ = now;
    arrived_ = arrived;
}

DiskStep ShardPulse::step() {
    const auto exchanged = job_.exchange([this](std::vector<ShardSlot>& slots) { turn(slots); });
    // A shard that does not know the rates of the others must not continue to use the job's rate.
    if (!exchanged && claim_) report_.fatal(exchanged.error());
    const auto next = std::chrono::duration_cast<std::chrono::milliseconds>(kShardTurn);
    return DiskStep::rest_for(claim_ ? next : 4 * next);
}

void ShardPulse::turn(std::vector<ShardSlot>& slots) {
    const Instant now = pulse_now();
    measure(now);
    fill_in(slots[shard_.index]);
    const std::vector<bool> alive = lives_.look(now, slots);
    if (claim_) {
        const std::uint64_t share = claim_->turn(now, slots, alive, static_cast<std::uint64_t>(bits_per_second_));
        if (share != share_) {
            share_ = share;
            report_.edit([&](LandingReport::News& news) { news.share = message::Share{share}; });
        }
    }
    tell(slots, alive);
}

void ShardPulse::tell(const std::vector<ShardSlot>& slots, const std::vector<bool>& alive) {
    JobProgress all;
    all.job = shard_.job;
    all.index = shard_.index;
    all.count = shard_.count;
    double longest = -1;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const ShardSlot& slot = slots[i];
        if (slot.run == 0) continue;
        if (slot.state == ShardSlot::State::done) {
            ++all.done;
        } else if (alive[i]) {
            ++all.running;
            all.bits_per_second += slot.rate;
            if (left_of(slot) > longest) {
                longest = left_of(slot);
                all.slowest = i;
            }
        } else {
            ++all.failed;
        }
        add_up(all.bytes_done, slot.bytes_done);
        add_up(all.bytes_total, slot.bytes_total);
        all.files_done += slot.files_done;
        all.failures += slot.failures;
    }
    report_.job.edit([&](Progress& progress, Outcome&) { progress.job = all; });
}

// Sources are few. The content of one may have many directories, of which some suffice.
constexpr std::size_t kMostTops = 16;

enum class TreeStage : std::uint8_t {
    closed,   ///< nothing is open yet
    joining,  ///< the root is open, and the journal may have to be released by another job
    barred,   ///< what arrives is dropped: the root cannot be opened, or the other shards of the job do not allow it
    open,     ///< it writes
};
constexpr Step<TreeStage> kTreeSteps[] = {{TreeStage::closed, TreeStage::joining},
                                          {TreeStage::closed, TreeStage::barred},
                                          {TreeStage::joining, TreeStage::open},
                                          {TreeStage::joining, TreeStage::barred}};

class TreeLanding final : public Landing {
  public:
    TreeLanding(const ConfinedDir& base, const message::Offer& offer, const LandingOptions& options,
                LandingReport& report)
        : base_(base),
          offer_(agreed(offer, options)),
          options_(options),
          report_(report),
          drops_owners_(offer.owner && !offer_.owner),
          keeps_more_(offer_.overwrite < offer.overwrite) {}
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
        if (auto* piece = std::get_if<WholePiece>(&pending_)) return write_waiting(*piece);
        if (auto* keep = std::get_if<op::KeepPieces>(&pending_)) return keep_piece(*keep);
        if (const auto* finish = std::get_if<message::Finish>(&pending_)) return finish_more(*finish);
        return writer_ && writer_->holdings().go_on([this](message::Answer answer) { tell(std::move(answer)); });
    }

    [[nodiscard]] std::uint64_t held() const override { return writer_ ? writer_->held() : 0; }

    void operator()(const message::Entry& entry) {
        const bool in_directory = entry.path.size() > 1 || entry.type == EntryType::directory;
        if (job_ && in_directory && !entry.path.empty() && tops_.size() < kMostTops) tops_.insert(entry.path.front());
        writer_->begin_entry(entry);
    }
    void operator()(WholePiece& piece) {
        if (must_look(piece.piece.file, piece.piece.length)) {
            pending_ = std::move(piece);
        } else {
            write(piece);
        }
    }
    void write(const WholePiece& piece) {
        writer_->files().write_piece(piece);
        report_.job.edit([&](Progress& progress, Outcome& outcome) {
            progress.bytes_done = outcome.sent_bytes = writer_->files().written();
            if (std::string name = writer_->files().path_of(piece.piece.file); !name.empty()) {
                progress.current_name = std::move(name);
            }
        });
        report_.note_released(piece.piece.length);
    }
    void operator()(const message::Digests& digests) { writer_->files().check_digests(digests); }
    void operator()(const message::Query& query) {
        // A file without an answer is sent and compared then.
        if (answering_) writer_->holdings().answer(query, [this](message::Answer answer) { tell(std::move(answer)); });
    }
    void operator()(const message::Meta& meta) { writer_->set_meta(meta); }
    void operator()(const message::Rules& rules) { writer_->add_rules(rules); }
    void operator()(const message::Unsent& unsent) { writer_->note_unsent(unsent); }
    void operator()(const op::KeepPieces& o) { pending_ = o; }
    void operator()(const op::Hole& o) { writer_->files().make_hole(o.index, o.extent); }
    void operator()(const op::EndFile& o) { writer_->end_file(o.end, o.pieces); }
    void operator()(const Chunk& /*bytes*/) {}
    void operator()(const message::Finish& finish) {
        report_.job.edit([](Progress& progress, Outcome&) { progress.phase = Phase::flush; });
        pending_ = finish;
    }

  private:
    using Stage = TreeStage;
    /// False: it cannot be opened, or the other shards of the job do not allow this one.
    [[nodiscard]] bool open_root();
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
        const std::uint64_t missing = writer_->files().missing_in_quota(index, piece);
        if (missing > 0) look_.emplace(StateAccess::of(*options_.quota), missing);
        return missing > 0;
    }
    /// Continues the look at the disk. False: it is not complete yet.
    bool has_looked() {
        const auto over = look_->go_on(base_);
        if (over && !*over) return false;
        if (!over && !std::exchange(look_failed_, true)) report_.warn(over.error().message);
        look_.reset();
        return looked_ = true;
    }
    bool write_waiting(const WholePiece& piece) {
        looked_ = false;
        write(piece);
        pending_ = {};
        return true;
    }
    /// Takes one piece at a call, because it may have to be copied.
    bool keep_piece(op::KeepPieces& rest) {
        if (must_look(rest.index, piece_length(rest.extent.offset, rest.extent.length))) return true;
        const Extent piece{rest.extent.offset, piece_length(rest.extent.offset, rest.extent.length)};
        writer_->files().keep_pieces(rest.index, piece, rest.first_ordinal++);
        rest.extent.offset += piece.length;
        rest.extent.length -= piece.length;
        if (rest.extent.length == 0) pending_ = {};
        return true;
    }
    bool finish_more(const message::Finish& finish) {
        const auto root =
            writer_->finish([&] { return may_erase(finish); }, [&](const Digest& found) { finish_job(finish, found); });
        if (!root) return true;
        tell_written();
        const bool same = *root == finish.root;
        pending_ = {};
        const message::Confirm confirm{totals_of(report_.job), *root};
        if (same && unfinished_) {
            report_.fatal(*unfinished_);
        } else if (same) {
            report_.confirm(confirm);
        } else {
            report_.fatal({ErrorCode::integrity, "the root digests of the two ends differ"});
        }
        return false;
    }
    /// Reports to the other shards that this one has delivered everything.
    void finish_job(const message::Finish& finish, const Digest& root) {
        const bool whole = root == finish.root && finish.unsent == 0 && report_.job.outcome().failed_count == 0;
        if (!job_) return;
        job_->add_tops(tops_);
        const Outcome outcome = report_.job.outcome();
        const bool unchanged = outcome.files + outcome.links + outcome.directories + outcome.erased == 0;
        // The last shard removes the file, and needs the final figures of all.
        if (whole) pulse_->finish();
        const auto state = whole ? job_->finish(unchanged) : job_->state();
        if (!state) {
            if (!whole) return;
            unfinished_ = state.error();
            return pulse_->fail();
        }
        if (whole) pulse_->look_again();
        tell_job(*state);
        if (whole) job_->remove();
    }
    void tell_job(const JobState& state) {
        report_.job.edit([&](Progress&, Outcome& outcome) { outcome.job = state; });
        report_.edit([&](LandingReport::News& news) { news.job = message::Job{state.run, state.done, state.waiting}; });
    }
    void tell(message::Answer answer) {
        if (answering_) report_.answer(std::move(answer));
    }
    void tell_written() {
        report_.job.edit([this](Progress& progress, Outcome& outcome) {
            progress.bytes_done = outcome.sent_bytes = writer_->files().written();
        });
    }

    /// False if something failed: a sender that could not read a directory does not know what is in it.
    [[nodiscard]] bool may_erase(const message::Finish& finish) const {
        const Outcome outcome = report_.job.outcome();
        const bool well = finish.unsent == 0 && outcome.failed_count == 0 && !report_.stopped();
        // Directories were emptied before, if files arrived in their place.
        const std::string what = outcome.erased == 0 ? "nothing" : "nothing else";
        if (!well) report_.job.warn(what + " was deleted, because not everything arrived");
        return well;
    }

    const ConfinedDir& base_;
    const message::Offer offer_;
    const LandingOptions& options_;
    LandingReport& report_;
    const bool drops_owners_;  // the sender asks for them, and they cannot be set here
    const bool keeps_more_;    // of what exists than the sender asks for
    Lifecycle<kTreeSteps> stage_{Stage::closed};
    bool answering_ = false;
    // The operation that takes several steps: a piece that waits for the look at the disk, pieces that are left to be
    // kept, the end.
    std::variant<std::monostate, WholePiece, op::KeepPieces, message::Finish> pending_;
    std::optional<DiskQuota::Look> look_;  // while it runs
    bool looked_ = false;                  // the next piece is judged by what is known
    bool look_failed_ = false;
    std::string notes_;  // for the user
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
    if (stage_ == Stage::open) return !look_ || has_looked();
    if (stage_ == Stage::closed) stage_.enter(open_root() ? Stage::joining : Stage::barred);
    if (stage_ == Stage::barred) return true;
    if (opening_) {
        auto opened = opening_->attempt();
        if (!opened) return false;
        journal_ = std::move(opened->journal);
        notes_ = std::move(opened->note);
        opening_.reset();
    }
    const bool allowed = open_job();
    if (allowed) begin();
    stage_.enter(allowed ? Stage::open : Stage::barred);
    return true;
}

bool TreeLanding::open_root() {
    auto root = base_.make_subdirectory(join_path(offer_.destination));
    if (!root) {
        report_.fatal(root.error());
        return false;
    }
    root_ = std::move(root).value();
    report_.job.set_place([place = join_path(offer_.destination)](const auto&, auto) { return place; });
    // Open the root up first, because the journal is created in it.
    root_mode_ = open_up(root_->fd());
    mark_in_use(*root_);
    // Opening the journal ends an older run of this shard, which must not make way for a shard that is refused.
    if (!may_join()) return false;
    open_journal();
    return true;
}

void TreeLanding::open_journal() {
    if (offer_.transfer == 0) return;
    auto own_root = root_->make_subdirectory("");
    if (!own_root) {
        notes_ = "no resume: " + own_root.error().message;
    } else if (!options_.resume) {
        notes_ = "no resume: the receiver runs with --no-resume";
    } else {
        opening_.emplace(std::move(own_root).value(), offer_.transfer, offer_.hash, [&report = report_] {
            report.fatal({ErrorCode::superseded, "a newer run of the same transfer has taken over"});
        });
    }
}

bool TreeLanding::may_join() {
    if (!offer_.shard || offer_.transfer == 0 || !options_.resume) return true;
    auto own_root = root_->make_subdirectory("");
    if (!own_root) return true;
    const auto checked = JobFile::check(std::move(own_root).value(), *offer_.shard, offer_.hash);
    if (!checked) report_.fatal(checked.error());
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
        pulse_.emplace(*job_, *offer_.shard, report_, random_number() | 1U);
        return true;
    }
    const bool needed = opened.error().code == ErrorCode::refused || offer_.shard->bits_per_second > 0;
    if (needed) {
        report_.fatal(opened.error());
    } else {
        say(notes_, opened.error().message + ": files that are divided between shards fail");
    }
    return !needed;
}

void TreeLanding::begin() {
    if (drops_owners_) {
        say(notes_,
            "owner and group, and set-group-ID where others may write, are not preserved: the receiver does not "
            "run as root");
    }
    if (keeps_more_ && offer_.overwrite == Overwrite::never) say(notes_, "the receiver runs with --overwrite never");
    if (!notes_.empty()) report_.job.warn(notes_);
    const bool resumes = journal_ && (!journal_->earlier().empty() || (job_ && job_->has_parts()));
    int error = 0;
    const std::vector<std::string> names = names_in(root_->fd(), error);
    if (const auto removed = remove_old_journals(*root_, names, kKeepLeftoversDays); removed > 0) {
        report_.job.warn("removed what " + std::to_string(removed) + (removed == 1 ? " transfer" : " transfers") +
                         " had left here for another run, more than " + std::to_string(kKeepLeftoversDays) +
                         " days ago");
    }
    const bool occupied = error != 0 || holds_anything(names);  // an unreadable directory may have entries
    answering_ = resumes || (offer_.overwrite != Overwrite::always && occupied);
    const bool keeps = journal_ != nullptr;
    const TreeRun run{.unique = random_number(),
                      .journal = journal_.get(),
                      .job = job_.get(),
                      .occupied = occupied,
                      .root_mode = root_mode_};
    writer_.emplace(std::move(*root_), offer_, options_, run, report_);
    report_.job.edit([&](Progress&, Outcome& outcome) { outcome.continues = keeps; });
    report_.edit([&](LandingReport::News& news) {
        news.resume = message::Resume{
            .active = answering_, .note = notes_, .announce_all = options_.receipt.has_value(), .keeps = keeps};
    });
}

std::unique_ptr<Landing> land_tree(const ConfinedDir& base, const message::Offer& offer, const LandingOptions& options,
                                   LandingReport& report) {
    return std::make_unique<TreeLanding>(base, offer, options, report);
}

}  // namespace udtx::transfer

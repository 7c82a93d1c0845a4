#include "transfer/source/reader.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "transfer/checksum.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/names.hpp"
#include "transfer/source/file_sender.hpp"

namespace udtx::transfer {

namespace {

// Small files are collected up to this size before the protocol thread is woken.
constexpr std::size_t kEagerBytes = 256U << 10U;
// Most bytes of small files that are sent before the receiver has said what it has. This is about what the first
// windows hold, and little if it was needless.
constexpr std::uint64_t kMaxAheadBytes = 64U << 10U;
// On a short path the receiver has answered by then, and nothing is sent needlessly.
constexpr auto kBeforeBeginning = std::chrono::milliseconds(20);

// Steps of the clocks of file systems: of the kernel's tick, and those of FAT.
constexpr std::chrono::milliseconds kFineStep(20);
constexpr std::chrono::milliseconds kCoarseStep(2000);

/// How long a file must rest until each later write shows in its times.
std::chrono::milliseconds time_to_settle(const struct stat& st) {
    using namespace std::chrono;
    const auto changed = system_clock::time_point(seconds(st.st_ctim.tv_sec)) +
                         duration_cast<system_clock::duration>(nanoseconds(st.st_ctim.tv_nsec));
    const milliseconds step = st.st_ctim.tv_nsec == 0 ? kCoarseStep : kFineStep;
    const auto passed = system_clock::now() - changed;
    // A time far in the future is that of another clock.
    return passed < step && passed > -step ? ceil<milliseconds>(step - passed) : milliseconds(0);
}

class TreeReader final : public Reader {
  public:
    TreeReader(const std::vector<SourceRoot>& roots, const SendOptions& options, ReadRun run, ScanQueue& scanned,
               OutgoingQueue& out, LateWaker& waker, JobReport& report, ResumeAnswers& answers)
        : roots_(roots),
          what_(options.what),
          run_(run),
          sent_(sent_names(options)),
          report_(report),
          packer_(out, waker, writer_of(options.receipt)),
          announcer_(roots_, options, run_, packer_, report_),
          inquiries_(options, scanned, packer_, announcer_, answers),
          piece_hasher_(what_.hash),
          sender_(what_.hash, piece_hasher_, packer_, announcer_, inquiries_) {}

    DiskStep step() override {
        const DiskSlice slice;
        if (!std::exchange(begun_, true)) begin();
        for (;;) {
            if (packer_.closed()) return DiskStep::over();
            if (packer_.full()) return DiskStep::rest();
            if (slice.over()) return DiskStep::again();
            if (const Wait wait = go_on()) return *wait;
            if (!sender_.busy() && packer_.pending() >= kEagerBytes) packer_.flush();
        }
    }

    void skip(std::uint64_t index) noexcept override { sender_.skip(index); }
    void stop() noexcept override {}

  private:
    using Clock = std::chrono::steady_clock;
    using Candidate = Inquiries::Candidate;
    /// A file that was written a moment ago. It is opened again when a later write would show in its times.
    struct Fresh {
        ScannedEntry entry;
        RemoteHolding holding;
        std::optional<std::uint64_t> query;
        Clock::time_point until;
    };
    /// Result of a part of the work: nullopt to continue, or how to wait.
    using Wait = std::optional<DiskStep>;

    void begin() {
        if (what_.erase) {
            // They protect files of the receiver, so they precede everything else.
            const bool contents = std::ranges::any_of(roots_, [](const auto& root) { return root.leaf.empty(); });
            for (message::Rules& rules : rule_messages(what_.rules, contents)) packer_.message(std::move(rules));
        }
        inquiries_.take_decision();
        // The directory whose contents are sent has a mode, a time and an owner too.
        if (what_.preserve && !what_.dry_run && !what_.names) announcer_.announce_top();
    }

    [[nodiscard]] Wait go_on() {
        if (sender_.busy()) return sender_.go_on();
        if (const auto* fresh = std::get_if<Fresh>(&present_)) {
            const auto rest = fresh->until - Clock::now();
            if (rest > Clock::duration::zero())
                return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(rest));
            Fresh file = take_present<Fresh>();
            begin_file(std::move(file.entry), std::move(file.holding), file.query, true);
            return std::nullopt;
        }
        if (std::holds_alternative<SourceFile>(present_)) {
            compare();
            return std::nullopt;
        }
        if (std::holds_alternative<std::monostate>(present_)) {
            if (const Wait wait = take_next()) return wait;
        }
        if (const Wait wait = wait_to_send(std::get<Candidate>(present_))) {
            packer_.flush();
            return wait;
        }
        send(take_present<Candidate>());
        return std::nullopt;
    }

    template <class Stage>
    Stage take_present() {
        Stage taken = std::move(std::get<Stage>(present_));
        present_ = std::monostate();
        return taken;
    }

    [[nodiscard]] Wait take_next() {
        auto next = inquiries_.next();
        if (!next) {
            if (!inquiries_.over()) {
                packer_.flush();
                return DiskStep::rest();
            }
            finish();
            return DiskStep::over();
        }
        met_ = Clock::now();
        announcer_.meet(next->entry);
        present_ = std::move(*next);
        return std::nullopt;
    }

    /// nullopt: enough is known of the candidate; otherwise how to wait for more.
    [[nodiscard]] Wait wait_to_send(const Candidate& next) {
        if (next.entry.type != EntryType::file && !what_.dry_run) return std::nullopt;
        if (inquiries_.knows_answer(next.query) || goes_ahead(next)) return std::nullopt;
        // While the receiver has not answered, a file longer than one piece is started: its first block opens the
        // congestion window. A part is not started, since a needless start would leave data behind for the other
        // shards.
        const bool may_begin =
            !inquiries_.decided() && next.query && !what_.dry_run && !next.entry.part && next.entry.size > kPieceBytes;
        if (!may_begin) return DiskStep::rest();
        const auto waited = Clock::now() - met_;
        if (run_.far || waited >= kBeforeBeginning) return std::nullopt;
        return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(kBeforeBeginning - waited));
    }

    /// True if the file is small enough to be sent together with its query.
    [[nodiscard]] bool goes_ahead(const Candidate& next) const {
        // Receipts and other names of the file need the answer. A file that an earlier connection sent exists already.
        const bool plain = !what_.dry_run && !what_.part && !next.entry.part && !what_.by_digest && !what_.hard_links &&
                           !inquiries_.writes_receipt() && !announcer_.tells_meta();
        const bool again = sent_ != nullptr && sent_->earlier(next.entry.path);
        return run_.far && plain && !again && !inquiries_.decided() && next.query &&
               next.entry.size <= kMaxAheadBytes - ahead_bytes_;
    }

    void send(Candidate candidate) {
        ScannedEntry& entry = candidate.entry;
        const bool file = entry.type == EntryType::file;
        if (!what_.dry_run && !file) {
            if (entry.type == EntryType::hard_link) return send_hard_link(std::move(entry));
            announcer_.announce_unread(entry);
            if (entry.type == EntryType::symlink) announcer_.sent_link(entry);
            return;
        }
        if (goes_ahead(candidate)) {
            inquiries_.send_ahead(candidate);
            ahead_bytes_ += entry.size;
            return begin_file(std::move(entry), {}, std::nullopt);
        }
        if (!inquiries_.decided()) return begin_file(std::move(entry), {}, candidate.query);
        RemoteHolding holding = inquiries_.take_holding(candidate.query);
        if (!file) return plan_unread(std::move(entry), holding);
        if (!leave_out(entry, holding)) begin_file(std::move(entry), std::move(holding), std::nullopt);
    }

    /// Sends other names of a file as links. If the receiver keeps its own version under the link's target, the first
    /// such name is sent as a file. The others then link to that one.
    void send_hard_link(ScannedEntry entry) {
        if (inquiries_.unreplaced().lead(entry)) {
            announcer_.announce_unread(entry);
            return announcer_.sent_link(entry);
        }
        send_as_file(std::move(entry));
    }

    void send_as_file(ScannedEntry link) {
        link.type = EntryType::file;
        link.target.clear();
        // Like any other file, it is queried first.
        ask_again(std::move(link));
    }

    void ask_again(ScannedEntry entry) {
        const std::uint64_t query = inquiries_.ask(entry);
        met_ = Clock::now();
        present_ = Candidate{std::move(entry), query};
    }

    /// In a dry run, what send_hard_link() does is also done with links.
    void plan_unread(ScannedEntry entry, const RemoteHolding& holding) {
        if (entry.type != EntryType::hard_link) return announcer_.plan_unread(entry, holding.has, holding.changes);
        const std::string target = entry.target;
        if (!inquiries_.unreplaced().lead(entry)) return send_as_file(std::move(entry));
        if (entry.target == target) return announcer_.plan_unread(entry, holding.has, holding.changes);
        announcer_.announce(entry);  // the first query was about a link to another name
        ask_again(std::move(entry));
    }

    /// True if nothing of the file needs to be sent, because of what the receiver has.
    [[nodiscard]] bool leave_out(const ScannedEntry& entry, const RemoteHolding& holding) {
        const bool same = holding.has == Holding::same;
        const bool exists = holding.has == Holding::exists;
        const bool blocked = holding.has == Holding::blocked;
        const bool delivered = holding.has == Holding::file && !what_.dry_run;
        if (!same && !exists && !blocked && !delivered) return false;
        announcer_.end(entry, 0);
        if (same || exists) announcer_.stands(entry);
        if (delivered) announcer_.kept_file(entry);
        const bool told = !what_.dry_run && (inquiries_.announces_all() || announcer_.tells_meta());
        if (delivered || (same && told)) {
            announcer_.announce_kept(entry);
        } else if (same) {
            announcer_.plan(PlannedEntry::Kind::unchanged, entry, holding.changes);
        } else {
            inquiries_.unreplaced().add(entry);
            if (exists) announcer_.plan(PlannedEntry::Kind::skip, entry, holding.changes);
        }
        return true;
    }

    /// Opens the file. If the receiver may have all of it, the pieces are compared first. `settled`: as Fresh says.
    void begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query,
                    bool settled = false) {
        auto [fd, error] = roots_[entry.root].directory.open_at(entry.path, O_RDONLY);
        if (what_.dry_run && error == 0 && holding.has != Holding::all_pieces) {
            return announcer_.plan_changed(entry, holding.changes);
        }
        struct stat st = {};
        if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
        const std::uint8_t changes = holding.changes;
        if (!fd) return cannot_read(entry, changes, why_unreadable(entry, error));
        if (error != 0 || !S_ISREG(st.st_mode)) {
            return cannot_read(entry, changes,
                               unreadable(entry.path, S_IFREG, error != 0 ? S_IFREG : st.st_mode, error));
        }
        const auto size = static_cast<std::uint64_t>(st.st_size);
        if (size > kMaxNumber) return cannot_read(entry, changes, too_large(entry.path, size));
        if (const auto wait = settled ? std::chrono::milliseconds(0) : time_to_settle(st); wait.count() > 0) {
            packer_.flush();
            present_ = Fresh{
                .entry = std::move(entry), .holding = std::move(holding), .query = query, .until = Clock::now() + wait};
            return;
        }
        // The file may have grown or shrunk since it was found.
        if (!choose_bytes(what_, size, entry)) return cannot_read(entry, changes, Announcer::changed(entry));
        SourceFile file{.entry = std::move(entry),
                        .fd = std::move(fd),
                        .before = st,
                        .kept = KeptPieces(piece_hasher_, std::move(holding)),
                        .query = query};
        if (!file.may_be_same()) return end_comparing(std::move(file), false);
        present_ = std::move(file);
    }

    [[nodiscard]] Error why_unreadable(const ScannedEntry& entry, int error_number) const {
        const SplitName split = split_leaf(entry.path);
        const UniqueFd parent = roots_[entry.root].directory.open_directory(split.directory).fd;
        return unreadable(parent.get(), split.leaf, entry.path, S_IFREG, error_number);
    }

    void cannot_read(const ScannedEntry& entry, std::uint8_t changes, Error why) {
        // A file that changes now may be at rest when the run reads it.
        const bool changed = why.code == ErrorCode::changed;
        if (what_.dry_run && changed) return announcer_.plan_changed(entry, changes | change::kContent);
        if (!what_.dry_run) {
            announcer_.announce_unreadable(entry, changed ? FileStatus::changed : FileStatus::unreadable,
                                           why.system_error);
        }
        announcer_.end(entry, 0);
        announcer_.fail(entry, std::move(why));
        inquiries_.unreplaced().add(entry);
    }

    void compare() {
        SourceFile& file = std::get<SourceFile>(present_);
        const auto same = file.compare(announcer_);
        if (!same) return;
        const bool stands = what_.dry_run || file.stands();
        end_comparing(take_present<SourceFile>(), *same && stands);
    }

    void end_comparing(SourceFile file, bool same) {
        const std::uint8_t changes = file.kept.changes();
        if (!same && !what_.dry_run) return sender_.begin(std::move(file));
        if (!same) return announcer_.plan_changed(file.entry, changes | change::kContent);
        announcer_.end(file.entry, 0);
        if (what_.dry_run) return announcer_.plan(PlannedEntry::Kind::unchanged, file.entry, changes);
        announcer_.stands(file.entry);
        announcer_.announce_kept(file.entry);
    }

    void finish() {
        inquiries_.flush_unsent();
        announcer_.tell_left_out();
        message::Finish m;
        m.entries = announcer_.count();
        m.data_bytes = sender_.data_bytes();
        m.unsent = report_.unannounced();
        m.root = sender_.root();
        packer_.finish(m);
    }

    const std::vector<SourceRoot>& roots_;
    const Selection& what_;
    const ReadRun run_;
    SentNames* const sent_;  // null: nothing is recorded
    JobReport& report_;
    bool begun_ = false;
    Clock::time_point met_;          // when the candidate was taken
    std::uint64_t ahead_bytes_ = 0;  // of files that were sent together with their query
    /// What is done with the present entry before its file is sent: whether to send it is decided, its time to settle
    /// passes, or its pieces are compared.
    std::variant<std::monostate, Candidate, Fresh, SourceFile> present_;
    OutgoingPacker packer_;
    Announcer announcer_;
    Inquiries inquiries_;
    PieceHasher piece_hasher_;
    FileSender sender_;
};

class PipeReader final : public Reader {
  public:
    PipeReader(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker, JobReport& report)
        : fd_(fd),
          name_(std::move(name)),
          hash_(hash),
          packer_(out, waker),
          waker_(waker),
          hasher_(hash),
          report_(report) {
        Begun begun;
        const off_t offset = ::lseek(fd, 0, SEEK_CUR);
        if (offset >= 0 && ::fstat(fd, &begun.st) == 0 && S_ISREG(begun.st.st_mode)) {
            begun.offset = static_cast<std::uint64_t>(offset);
            begun_ = begun;
        } else {
            widen_pipe(fd);
        }
    }

    DiskStep step() override {
        if (again_) return read_again();
        const DiskSlice slice;
        for (;;) {
            if (packer_.closed()) return DiskStep::over();
            if (packer_.full()) return DiskStep::rest();
            if (slice.over()) return DiskStep::again();
            if (!StopEvent::ready(fd_, POLLIN)) {
                // A program that feeds the pipe slowly still expects its data to arrive.
                packer_.flush();
                if (!stop_.wait(fd_, POLLIN)) return DiskStep::over();
            }
            const std::span<std::byte> room = packer_.space();
            const ssize_t n = ::read(fd_, room.data(), room.size());
            if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (n < 0) return fail(io_error("cannot read", name_, errno));
            if (n == 0) return end_of_input();
            const auto count = static_cast<std::size_t>(n);
            hasher_.update(room.first(count));
            packer_.advance(count);
            bytes_ += count;
            report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total = bytes_; });
        }
    }

    void skip(std::uint64_t /*index*/) noexcept override {}
    void stop() noexcept override { stop_.stop(); }

  private:
    /// A file as it was at the start.
    struct Begun {
        struct stat st = {};
        std::uint64_t offset = 0;
    };
    /// What was read is compared with what the file has now.
    struct SecondReading {
        Digest first;
        PieceHasher reader;
        Hasher hasher;
        std::uint64_t done = 0;
    };

    DiskStep end_of_input() {
        const Digest digest = hasher_.finish();
        if (!begun_) return finish(digest);
        struct stat now = {};
        if (::fstat(fd_, &now) != 0) return fail(io_error("cannot read", name_, errno));
        if (same_content(begun_->st, now)) return finish(digest);
        if (now.st_size < begun_->st.st_size) return changed();
        // It may have grown only.
        again_.emplace(SecondReading{.first = digest, .reader = PieceHasher(hash_), .hasher = Hasher(hash_)});
        return DiskStep::again();
    }

    DiskStep read_again() {
        SecondReading& again = *again_;
        const DiskSlice slice;
        while (again.done < bytes_) {
            if (packer_.closed()) return DiskStep::over();
            if (slice.over()) return DiskStep::again();
            const std::uint64_t length = std::min(bytes_ - again.done, kPieceBytes);
            if (!again.reader.add_to(again.hasher, fd_, begun_->offset + again.done, length)) {
                const int error = again.reader.error();
                return error == ENODATA ? changed() : fail(io_error("cannot read", name_, error));
            }
            again.done += length;
        }
        return again.hasher.finish() == again.first ? finish(again.first) : changed();
    }

    DiskStep changed() {
        return fail({ErrorCode::changed,
                     "'" + escape_name(name_) + "' changed while it was read: send it again or copy it first"});
    }

    DiskStep fail(const Error& error) {
        report_.fail(name_, error);
        waker_.wake();
        return DiskStep::over();
    }

    DiskStep finish(const Digest& digest) {
        message::Finish m;
        m.data_bytes = bytes_;
        m.root = digest;
        packer_.finish(m);
        report_.sent(name_, bytes_);
        return DiskStep::over();
    }

    int fd_;
    const std::string name_;
    const HashAlgorithm hash_;
    std::optional<Begun> begun_{};
    std::optional<SecondReading> again_{};
    OutgoingPacker packer_;
    LateWaker& waker_;
    Hasher hasher_;
    JobReport& report_;
    StopEvent stop_;
    std::uint64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Reader> read_tree(const std::vector<SourceRoot>& roots, const SendOptions& options, ReadRun run,
                                  ScanQueue& scanned, OutgoingQueue& out, LateWaker& waker, JobReport& report,
                                  ResumeAnswers& answers) {
    return std::make_unique<TreeReader>(roots, options, run, scanned, out, waker, report, answers);
}

std::unique_ptr<Reader> read_pipe(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker,
                                  JobReport& report) {
    return std::make_unique<PipeReader>(fd, std::move(name), hash, out, waker, report);
}

}  // namespace udtx::transfer

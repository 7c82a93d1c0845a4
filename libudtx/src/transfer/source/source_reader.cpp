#include "transfer/source/source_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "transfer/file/attributes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"
#include "transfer/names.hpp"
#include "transfer/pieces/piece_map.hpp"
#include "transfer/source/extent_cursor.hpp"
#include "transfer/source/source_file.hpp"

namespace udtx::transfer {

namespace {

// Enough digests for a message to be worth its header, few enough for the receiver to verify while data flows.
constexpr std::size_t kDigestsPerMessage = 64;
// Small files are gathered up to so many bytes before the protocol thread is woken.
constexpr std::size_t kEagerBytes = 256U << 10U;
// Files asked about and not yet answered: with a tenth of a second there and back, 160,000 of them a second.
constexpr std::size_t kAskAhead = 16384;
// On a short path the receiver has spoken by then, and nothing is sent in vain.
constexpr auto kBeforeBeginning = std::chrono::milliseconds(20);

/// It has special bits that the receiver is not to set. Of a directory all but set-user-ID are kept.
bool loses_bits(const ScannedEntry& entry, bool set_id) {
    if (set_id || entry.type == EntryType::hard_link || entry.type == EntryType::symlink) return false;
    return (entry.mode & (entry.type == EntryType::directory ? mode_bits::kSetUser : mode_bits::kSpecial)) != 0;
}

bool same_version(const struct stat& a, const struct stat& b) {
    // Of one descriptor: an inode number that changes meanwhile, as FUSE may have it, says nothing.
    return a.st_size == b.st_size && mtime_of(a) == mtime_of(b);
}

}  // namespace

SourceReader::SourceReader(const std::vector<SourceRoot>& roots, ReadOptions options, ScanQueue& scanned,
                           OutgoingQueue& out, LateWaker& waker, JobReport& report, ResumeAnswers& answers)
    : roots_(roots),
      options_(std::move(options)),
      scanned_(scanned),
      report_(report),
      answers_(answers),
      packer_(out, waker),
      piece_hasher_(options_.hash),
      root_(options_.hash) {}

SourceReader::~SourceReader() = default;

DiskStep SourceReader::step() {
    const DiskSlice slice;
    if (!std::exchange(begun_, true)) {
        for (message::Rules& rules : options_.rules) packer_.message(std::move(rules));
        take_decision();
        if (options_.tops) send_top();
    }
    for (;;) {
        if (packer_.closed()) return DiskStep::over();
        if (packer_.full()) return DiskStep::rest();
        if (slice.over()) return DiskStep::again();
        if (const Wait wait = go_on()) return *wait;
        if (!file_ && packer_.pending() >= kEagerBytes) packer_.flush();
    }
}

SourceReader::Wait SourceReader::go_on() {
    if (file_) return send_more(*file_);
    if (!candidate_) {
        if (const Wait wait = take_next()) return wait;
    }
    if (const Wait wait = wait_to_send()) {
        packer_.flush();
        return wait;
    }
    Candidate candidate = std::move(*candidate_);
    candidate_.reset();
    send(std::move(candidate));
    return std::nullopt;
}

SourceReader::Wait SourceReader::take_next() {
    look_ahead(active_ ? kAskAhead : decided_ ? 1 : kAskEarly);
    if (waiting_.empty()) {
        if (!scanned_.over()) {
            packer_.flush();
            return DiskStep::rest();
        }
        finish();
        return DiskStep::over();
    }
    candidate_ = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= candidate_->entry.size;
    met_ = std::chrono::steady_clock::now();
    meet(candidate_->entry);
    return std::nullopt;
}

void SourceReader::meet(const ScannedEntry& entry) {
    if (options_.preserve && loses_bits(entry, options_.set_id)) special_bits_.add(entry.path);
    if (entry.type != EntryType::file || !sent_earlier(entry)) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.files;
        outcome.sent_earlier.bytes += entry.size;
    });
}

SourceReader::Wait SourceReader::wait_to_send() {
    const Candidate& next = *candidate_;
    if (next.entry.type != EntryType::file && !options_.dry_run) return std::nullopt;
    if (knows_answer(next.query)) return std::nullopt;
    if (!may_begin(next)) return DiskStep::rest();
    const auto waited = std::chrono::steady_clock::now() - met_;
    if (waited >= kBeforeBeginning) return std::nullopt;
    return DiskStep::rest_for(std::chrono::ceil<std::chrono::milliseconds>(kBeforeBeginning - waited));
}

void SourceReader::send(Candidate candidate) {
    ScannedEntry& entry = candidate.entry;
    if (entry.type == EntryType::hard_link && !options_.dry_run) return send_hard_link(std::move(entry));
    if (entry.type != EntryType::file && !options_.dry_run) return send_unread(entry);
    if (!decided_) return begin_file(std::move(entry), {}, candidate.query);
    RemoteHolding holding =
        active_ ? answers_.take(*candidate.query) : RemoteHolding{Holding::nothing, {}, change::kNew};
    if (entry.type != EntryType::file) return plan_unread(entry, holding);
    const bool same = holding.has == Holding::same;
    if (same || holding.has == Holding::exists) note_standing(entry);
    const bool told = options_.announce_all || options_.owner || options_.attributes || answers_.announce_all();
    if (same && !options_.dry_run && told) {
        return send_kept(entry, holding.has);
    }
    if (holding.has == Holding::blocked || holding.has == Holding::exists) note_unreplaced(entry);
    if (holding.has == Holding::blocked) return count_unsent(entry);
    if (same || holding.has == Holding::exists) {
        count_unsent(entry);
        return plan(same ? PlannedEntry::Kind::unchanged : PlannedEntry::Kind::skip, entry, holding.changes);
    }
    if (options_.dry_run) return plan_file(std::move(entry), std::move(holding));
    if (holding.has == Holding::file) return send_kept(entry, holding.has);
    begin_file(std::move(entry), std::move(holding), std::nullopt);
}

std::optional<std::uint64_t> SourceReader::sent_earlier(const ScannedEntry& entry) const {
    return options_.sent != nullptr ? options_.sent->earlier(entry.path) : std::nullopt;
}

void SourceReader::note_standing(const ScannedEntry& entry) {
    const auto sent = sent_earlier(entry);
    if (!sent) return;
    report_.edit([&](Progress&, Outcome& outcome) {
        ++outcome.sent_earlier.stood_files;
        outcome.sent_earlier.stood_bytes += entry.size;
        outcome.sent_earlier.stood_data += *sent;
    });
}

void SourceReader::announce_unread(const ScannedEntry& entry) {
    message::Entry m;
    m.index = next_index_++;
    m.type = entry.type;
    m.path = split_path(entry.path);
    m.mode = entry.mode;
    m.mtime = entry.mtime;
    m.target = entry.target;
    packer_.message(std::move(m));
}

void SourceReader::send_unread(const ScannedEntry& entry) {
    announce_unread(entry);
    if (entry.type != EntryType::directory || !(options_.owner || options_.attributes)) return;
    int ignored = 0;
    const UniqueFd fd = roots_[entry.root].directory.open_directory(entry.path, ignored);
    if (fd) send_meta(entry, fd.get(), Others::go);
}

/// The first of the sources that have no name of their own gives the destination what belongs to it.
void SourceReader::send_top() {
    const auto source = std::ranges::find_if(roots_, [](const SourceRoot& root) { return root.leaf.empty(); });
    struct stat st = {};
    if (source == roots_.end() || ::fstat(source->directory.fd(), &st) != 0) return;
    ScannedEntry entry;
    entry.root = static_cast<std::size_t>(source - roots_.begin());
    entry.type = EntryType::directory;
    entry.mode = static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll;
    entry.mtime = mtime_of(st);
    entry.user = st.st_uid;
    entry.group = st.st_gid;
    send_unread(entry);
}

void SourceReader::note_unreplaced(const ScannedEntry& entry) {
    if (entry.linked) unreplaced_.try_emplace(path_key(entry.path));
}

void SourceReader::send_hard_link(ScannedEntry entry) {
    for (;;) {
        const auto first = unreplaced_.find(path_key(entry.target));
        if (first == unreplaced_.end()) return send_unread(entry);
        if (first->second.empty()) {
            first->second = entry.path;
            break;
        }
        entry.target = first->second;
    }
    entry.type = EntryType::file;
    entry.target.clear();
    // As any file, it is asked about first.
    const std::uint64_t query = ask(entry);
    met_ = std::chrono::steady_clock::now();
    candidate_ = {std::move(entry), query};
}

void SourceReader::send_meta(const ScannedEntry& entry, int fd, Others others) {
    message::Meta m;
    m.index = next_index_ - 1;
    m.has_owner = options_.owner;
    m.has_attributes = options_.attributes;
    m.user = entry.user;
    m.group = entry.group;
    if (options_.attributes) {
        OtherAttributes others_of;
        const AttributesLeft left = read_attributes(fd, m.attributes, &others_of);
        if (others_of.capability) capabilities_.add(entry.path);
        if (others_of.access_list) access_lists_.add(entry.path);
        if (left.too_many) {
            report_.warn("'" + escape_name(entry.path) +
                         "': not all of its extended attributes are sent: they are too many or too large");
        }
        if (left.error_number != 0) {
            const bool directory = entry.type == EntryType::directory;
            report_.lacks({Belonging::attributes, directory ? 0U : 1U, directory ? 1U : 0U, 0, entry.path,
                           "cannot be read: " + std::generic_category().message(left.error_number)});
        }
        m.has_attributes = left.none();
    }
    const bool news = !m.attributes.empty() || (options_.attributes && others == Others::go);
    if (m.has_owner || news) packer_.message(std::move(m));
}

void SourceReader::plan(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes) {
    if (!options_.dry_run) return;
    using Kind = PlannedEntry::Kind;
    report_.edit([&](Progress& progress, Outcome& outcome) {
        const bool directory = entry.type == EntryType::directory;
        if (directory && kind != Kind::skip) ++outcome.directories;
        if (kind == Kind::make && entry.type == EntryType::symlink) ++outcome.links;
        if (kind == Kind::make && entry.type == EntryType::hard_link) ++outcome.files;
        if (kind == Kind::unchanged && !directory) ++outcome.unchanged;
        if (kind == Kind::skip) ++outcome.skipped;
        if (entry.type == EntryType::file || entry.type == EntryType::hard_link) ++progress.files_done;
        if (kind != Kind::send && kind != Kind::update) return;
        ++outcome.files;
        outcome.bytes += entry.size;
    });
    PlannedEntry planned{kind, entry.type, changes, entry.path, entry.size, entry.target};
    if (options_.planned) options_.planned(planned);
    if (options_.tell_plan) packer_.message(message::Plan{std::move(planned)});
}

void SourceReader::begin_file(ScannedEntry entry, RemoteHolding holding, std::optional<std::uint64_t> query) {
    int error = 0;
    UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, error);
    struct stat st = {};
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error == 0 && !S_ISREG(st.st_mode)) error = EINVAL;
    if (error != 0) return announce_unreadable(entry, error);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const bool whole = !may_have_holes(st) && size <= kSentExtentBytes && holding.pieces.empty() && !query;
    file_.reset(new OpenFile{std::move(entry), std::move(fd), st, whole, FileDigest(options_.hash, size),
                             std::move(holding), query});
    if (!may_be_same(*file_)) return announce(*file_);
    file_->compare = OpenFile::Compare::before_entry;
}

void SourceReader::announce(OpenFile& file) {
    const bool sparse = may_have_holes(file.before);
    const auto size = static_cast<std::uint64_t>(file.before.st_size);
    message::Entry m;
    m.index = file.index = next_index_++;
    m.path = split_path(file.entry.path);
    m.mode = static_cast<std::uint32_t>(file.before.st_mode) & mode_bits::kAll;
    m.mtime = mtime_of(file.before);
    m.size = size;
    m.sparse = sparse;
    m.whole = file.whole;
    packer_.message(std::move(m));
    if (options_.owner || options_.attributes) send_meta(file.entry, file.fd.get(), Others::none);
    report_.edit([&](Progress& progress, Outcome&) { progress.current_name = file.entry.path; });
    if (!sparse && size > kPieceBytes) ::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    file.cursor.emplace(file.fd.get(), size, sparse);
}

// One piece may have gone ahead of the word that the file is there: in vain. What the receiver gave up after more
// counts.
void SourceReader::end_file(FileStatus status) {
    const std::unique_ptr<OpenFile> closed = std::move(file_);
    OpenFile& file = *closed;
    flush_digests(file);
    message::FileEnd end{file.index, status, {}};
    if (status == FileStatus::ok) {
        end.digest = file.digest.finish();
        root_.add(file.index, end.digest);
        if (options_.sent != nullptr) options_.sent->add(file.entry.path, file.sent);
    } else if (status == FileStatus::kept) {
        if (file.holding.has == Holding::file) {
            count_kept(file.entry.size, 0);
        } else {
            note_standing(file.entry);
        }
    } else if (status == FileStatus::skipped) {
        note_unreplaced(file.entry);
        if (file.holding.has == Holding::exists) note_standing(file.entry);
    } else {
        note_unreplaced(file.entry);
        fail(file.entry.path, status, file.error);
    }
    packer_.message(end);
    const bool told = options_.owner || options_.attributes;
    if (status == FileStatus::kept && told) send_meta(file.entry, file.fd.get(), Others::go);
    if (packer_.stopped()) return;  // the rest still belongs to the whole
    const bool ends_early = status == FileStatus::kept || status == FileStatus::skipped;
    const std::uint64_t counts = ends_early && file.sent <= kPieceBytes ? 0 : file.sent;
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total += counts - file.entry.data_bytes; });
}

void SourceReader::announce_unreadable(const ScannedEntry& entry, int error_number) {
    message::Entry m;
    m.index = next_index_++;
    m.path = split_path(entry.path);
    m.whole = true;
    packer_.message(m);
    packer_.message(message::FileEnd{m.index, FileStatus::unreadable, {}});
    report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total -= entry.data_bytes; });
    note_unreplaced(entry);
    fail(entry.path, FileStatus::unreadable, error_number);
}

SourceReader::Wait SourceReader::send_more(OpenFile& file) {
    if (file.compare != OpenFile::Compare::not_now) {
        compare_more(file);
    } else if (file.fresh.length > 0) {
        send_fresh(file);
    } else if (file.range.length == 0) {
        return begin_extent(file);
    } else if (file.query && file.sent > 0) {
        return await_holding(file);
    } else {
        send_range(file);
    }
    return std::nullopt;
}

SourceReader::Wait SourceReader::await_holding(OpenFile& file) {
    if (!knows_answer(file.query)) {
        packer_.flush();
        return DiskStep::rest();
    }
    if (const FileStatus status = learn_holding(file); status != FileStatus::ok) end_file(status);
    return std::nullopt;
}

SourceReader::Wait SourceReader::begin_extent(OpenFile& file) {
    const auto extent = file.cursor->next();
    if (!extent) {
        // A receiver that has it all says so, and must not be told that it came as well.
        if (file.query) return await_holding(file);
        end_file(check_read(file));
    } else if (skip_.load(std::memory_order_relaxed) == file.index && !file.whole) {
        end_file(FileStatus::skipped);
    } else if (file.whole) {
        will_send(file, *extent);
    } else {
        file.range = *extent;
    }
    return std::nullopt;
}

FileStatus SourceReader::check_read(OpenFile& file) const {
    struct stat after = {};
    if (::fstat(file.fd.get(), &after) != 0 || !same_version(file.before, after)) return FileStatus::changed;
    // Some file systems (procfs, FUSE) give no true size: what lies behind it must not be dropped in silence.
    std::array<std::byte, 1> beyond{};
    std::size_t count = 0;
    file.error = read_all_at(file.fd.get(), beyond, static_cast<std::uint64_t>(file.before.st_size), count);
    if (file.error != 0) return FileStatus::unreadable;
    return count == 0 ? FileStatus::ok : FileStatus::changed;
}

void SourceReader::will_send(OpenFile& file, const Extent& extent) {
    file.sent += extent.length;
    data_bytes_ += extent.length;
    file.fresh = extent;
}

void SourceReader::send_fresh(OpenFile& file) {
    Extent& rest = file.fresh;
    const std::uint64_t length = piece_length(rest.offset, rest.length);
    const FileStatus status = send_piece(file, rest.offset, length);
    rest.offset += length;
    rest.length -= length;
    if (status == FileStatus::ok) return;
    send_zeros(rest.length);
    end_file(status);
}

FileStatus SourceReader::send_piece(OpenFile& file, std::uint64_t offset, std::uint64_t length) {
    piece_hasher_.reset();
    std::uint64_t done = 0;
    while (done < length && !packer_.stopped()) {
        std::span<std::byte> room = packer_.space();
        room = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length - done)));
        std::size_t count = 0;
        file.error = read_all_at(file.fd.get(), room, offset + done, count);
        piece_hasher_.update(room.first(count));
        packer_.advance(count);
        done += count;
        if (count < room.size()) {
            send_zeros(length - done);
            return file.error != 0 ? FileStatus::unreadable : FileStatus::changed;
        }
    }
    const Digest digest = piece_hasher_.finish();
    file.digest.add(offset, length, digest);
    add_digest(file, digest);
    return FileStatus::ok;
}

void SourceReader::send_zeros(std::uint64_t length) {
    while (length > 0 && !packer_.stopped()) {
        const std::span<std::byte> room = packer_.space();
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), length));
        std::memset(room.data(), 0, n);
        packer_.advance(n);
        length -= n;
    }
}

void SourceReader::add_digest(OpenFile& file, const Digest& digest) {
    file.digests.push_back(digest);
    if (file.digests.size() == kDigestsPerMessage) flush_digests(file);
}

void SourceReader::flush_digests(OpenFile& file) {
    if (file.digests.empty()) return;
    const std::uint64_t count = file.digests.size();
    packer_.message(message::Digests{file.index, file.first_unsent_digest, std::move(file.digests)});
    file.digests.clear();
    file.first_unsent_digest += count;
}

void SourceReader::finish() {
    flush_unsent();
    warn_of(special_bits_, "set-user-ID, set-group-ID and sticky bits of files are kept only with --set-id");
    warn_of(capabilities_, "capabilities are never kept");
    warn_of(access_lists_, "access control lists are never kept");
    if (options_.tell_warnings) tell_warnings();
    message::Finish m;
    m.entries = next_index_;
    m.data_bytes = data_bytes_;
    m.unsent = report_.unannounced();
    m.root = root_.finish();
    packer_.finish(m);
}

void SourceReader::tell_warnings() {
    const Outcome outcome = report_.outcome();
    for (const Unset& unset : outcome.unset) packer_.message(message::Unset{unset});
    std::vector<std::string> texts = outcome.warnings;
    std::erase_if(texts, [](const std::string& text) { return text.starts_with("receiver: "); });
    // Both count against what a receiver takes.
    const std::size_t room = kMaxNotes - std::min(kMaxNotes, outcome.unset.size());
    if (texts.size() > room) texts.resize(room);
    for (std::string& text : texts) packer_.message(message::Note{std::move(text)});
}

void SourceReader::warn_of(const LeftOut& left, const char* what) const {
    if (left.count == 0) return;
    report_.warn(what + (": " + std::to_string(left.count)) + (left.count == 1 ? " entry has" : " entries have") +
                 " one, first '" + escape_name(left.first) + "'");
}

void SourceReader::fail(const std::string& path, FileStatus status, int error_number) {
    Error error = status == FileStatus::changed
                      ? Error{ErrorCode::partial, "'" + escape_name(path) +
                                                      "' changed while it was read, or does not tell its true size "
                                                      "(procfs): send it again or copy it first"}
                      : io_error("cannot read", path, error_number);
    report_.fail({path, error.code, std::move(error.message)});
}

}  // namespace udtx::transfer

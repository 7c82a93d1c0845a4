#include "transfer/source/source_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transfer/file/attributes.hpp"
#include "transfer/file/file_io.hpp"
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

bool same_version(const struct stat& a, const struct stat& b) {
    return a.st_size == b.st_size && a.st_ino == b.st_ino && mtime_of(a) == mtime_of(b);
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

void SourceReader::run() {
    for (message::Rules& rules : options_.rules) packer_.message(std::move(rules));
    take_decision({});
    while (!packer_.stopped()) {
        const auto candidate = next();
        if (!candidate) return finish();
        send(*candidate);
        if (packer_.pending() >= kEagerBytes) packer_.flush();
    }
}

void SourceReader::send(const Candidate& candidate) {
    const ScannedEntry& entry = candidate.entry;
    const bool special = (entry.mode & 07000U) != 0 && entry.type != EntryType::hard_link;
    if (options_.preserve && special && special_bits_++ == 0) first_special_ = entry.path;
    if (entry.type != EntryType::file) return options_.dry_run ? plan_unread(candidate) : send_unread(entry);
    if (sent_earlier(entry)) {
        report_.edit([&](Progress&, Outcome& outcome) {
            ++outcome.sent_earlier.files;
            outcome.sent_earlier.bytes += entry.size;
        });
    }
    if (may_begin(candidate)) return send_file(entry, {}, candidate.query);
    RemoteHolding holding = holding_of(candidate);
    const bool same = holding.has == Holding::same;
    if (same || holding.has == Holding::exists) note_standing(entry);
    const bool told = options_.announce_all || options_.owner || options_.attributes || answers_.announce_all();
    if (same && !options_.dry_run && told) {
        return send_kept(entry, holding.has);
    }
    if (holding.has == Holding::blocked) return count_unsent(entry);
    if (same || holding.has == Holding::exists) {
        count_unsent(entry);
        return plan(same ? PlannedEntry::Kind::unchanged : PlannedEntry::Kind::skip, entry, holding.changes);
    }
    if (options_.dry_run) return plan_file(entry, std::move(holding));
    return holding.has == Holding::file ? send_kept(entry, holding.has)
                                        : send_file(entry, std::move(holding), std::nullopt);
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

void SourceReader::send_meta(const ScannedEntry& entry, int fd, Others others) {
    message::Meta m;
    m.index = next_index_ - 1;
    m.has_owner = options_.owner;
    m.has_attributes = options_.attributes;
    m.user = entry.user;
    m.group = entry.group;
    if (options_.attributes) {
        const std::string trouble = read_attributes(fd, m.attributes);
        if (!trouble.empty()) report_.warn("'" + escape_name(entry.path) + "': " + trouble);
        m.has_attributes = trouble.empty();
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

void SourceReader::send_file(const ScannedEntry& entry, RemoteHolding holding, std::optional<std::uint64_t> query) {
    int error = 0;
    UniqueFd fd = roots_[entry.root].directory.open_at(entry.path, O_RDONLY, 0, error);
    struct stat st = {};
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error == 0 && !S_ISREG(st.st_mode)) error = EINVAL;
    if (error != 0) return announce_unreadable(entry, error);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const bool sparse = may_have_holes(st);
    const bool whole = !sparse && size <= kSentExtentBytes && holding.pieces.empty() && !query;
    OpenFile file{entry, std::move(fd), next_index_, st, whole, FileDigest(options_.hash, size), std::move(holding),
                  query};
    if (same_content(file)) {
        note_standing(entry);
        return send_kept(entry, Holding::all_pieces);
    }
    message::Entry m;
    m.index = next_index_++;
    m.path = split_path(entry.path);
    m.mode = static_cast<std::uint32_t>(st.st_mode) & 07777U;
    m.mtime = mtime_of(st);
    m.size = size;
    m.sparse = sparse;
    m.whole = whole;
    packer_.message(std::move(m));
    if (options_.owner || options_.attributes) send_meta(entry, file.fd.get(), Others::none);
    report_.edit([&](Progress& progress, Outcome&) { progress.current_name = entry.path; });
    if (!sparse && size > kPieceBytes) ::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);

    end_file(file, send_extents(file));
}

// One piece may have gone ahead of the word that the file is there: in vain. What the receiver gave up after more
// counts.
void SourceReader::end_file(OpenFile& file, FileStatus status) {
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
        if (file.holding.has == Holding::exists) note_standing(file.entry);
    } else {
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
    fail(entry.path, FileStatus::unreadable, error_number);
}

FileStatus SourceReader::send_extents(OpenFile& file) {
    ExtentCursor cursor(file.fd.get(), static_cast<std::uint64_t>(file.before.st_size), may_have_holes(file.before));
    while (auto extent = cursor.next()) {
        if (packer_.stopped()) return FileStatus::skipped;
        if (skip_.load(std::memory_order_relaxed) == file.index && !file.whole) return FileStatus::skipped;
        const FileStatus status = file.whole ? send_extent(file, *extent) : send_range(file, *extent);
        if (status != FileStatus::ok) return status;
    }
    struct stat after = {};
    if (::fstat(file.fd.get(), &after) != 0 || !same_version(file.before, after)) return FileStatus::changed;
    // Some file systems (procfs, FUSE) give no true size: what lies behind it must not be dropped in silence.
    std::array<std::byte, 1> beyond{};
    std::size_t count = 0;
    file.error = read_all_at(file.fd.get(), beyond, static_cast<std::uint64_t>(file.before.st_size), count);
    if (file.error != 0) return FileStatus::unreadable;
    return count == 0 ? FileStatus::ok : FileStatus::changed;
}

FileStatus SourceReader::send_extent(OpenFile& file, const Extent& extent) {
    file.sent += extent.length;
    data_bytes_ += extent.length;
    std::uint64_t done = 0;
    while (done < extent.length) {
        const std::uint64_t offset = extent.offset + done;
        const std::uint64_t length = piece_length(offset, extent.length - done);
        const FileStatus status = send_piece(file, offset, length);
        done += length;
        if (status != FileStatus::ok || packer_.stopped()) {
            send_zeros(extent.length - done);
            return status;
        }
    }
    return FileStatus::ok;
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
    if (special_bits_ > 0) {
        report_.warn("set-user-ID, set-group-ID and sticky bits are never kept: " + std::to_string(special_bits_) +
                     (special_bits_ == 1 ? " entry has" : " entries have") + " one, first '" +
                     escape_name(first_special_) + "'");
    }
    message::Finish m;
    m.entries = next_index_;
    m.data_bytes = data_bytes_;
    m.unsent = report_.unannounced();
    m.root = root_.finish();
    packer_.finish(m);
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

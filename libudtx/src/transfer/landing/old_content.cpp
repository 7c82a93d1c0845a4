#include "transfer/landing/old_content.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "transfer/landing/eraser.hpp"
#include "transfer/landing/target_tree.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Digests that are kept for files that a sender asked about and has not announced yet: about 40 MB for 1 TB. Each file
// counts as eight more digests.
constexpr std::size_t kMaxBlocks = 1U << 20U;
constexpr std::size_t kFileCost = 8;
constexpr int kReadOnly = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

/// The number of blocks that have the same place and length in both versions.
std::uint64_t common_blocks(std::uint64_t old_size, std::uint64_t new_size) {
    if (old_size == new_size) return (new_size + kPieceBytes - 1) / kPieceBytes;
    return std::min(old_size, new_size) / kPieceBytes;
}

bool has_size(const struct stat& st, std::uint64_t size) {
    return S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == size;
}

}  // namespace

Error changed_here(const std::string& path) {
    return {ErrorCode::file_io,
            "'" + escape_name(path) + "' was changed here by another program during the transfer: repeat the command"};
}

OldContent::OldContent(const ConfinedDir& root, const message::Offer& agreed, Report& report, ResumeJournal* journal,
                       JobFile* job)
    : root_(root), offer_(agreed), report_(report), journal_(journal), job_(job), hasher_(agreed.hash) {
    if (journal_ == nullptr) return;
    for (const auto& [key, partial] : journal_->earlier().partials) {
        partials_[key] = {partial.path, partial.pieces, partial.shared};
    }
}

bool OldContent::look(const std::string& path, struct stat& st) {
    SplitName split = split_leaf(path);
    if (!parent_.fd || split.directory != directory_) {
        parent_ = root_.open_directory(split.directory);
        directory_ = std::move(split.directory);
    }
    return parent_.fd && ::fstatat(parent_.fd.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool OldContent::must_stay(const std::string& path) {
    struct stat st = {};
    return offer_.overwrite == Overwrite::never && (look(path, st) || is_barrier(parent_.error));
}

bool OldContent::is_directory(const std::string& path) {
    struct stat st = {};
    return look(path, st) && S_ISDIR(st.st_mode);
}

bool OldContent::is_same(const std::string& path, std::uint64_t size, const FileTime& mtime) {
    struct stat st = {};
    return !offer_.by_digest && look(path, st) && has_size(st, size) && has_time(st, mtime);
}

bool OldContent::is_journaled(const std::string& path, const message::Query& query) {
    if (query.part && job_ != nullptr) learn_claims(query, path);
    return has_partial(path) || was_delivered(path, query);
}

bool OldContent::was_delivered(const std::string& path, const message::Query& query) const {
    return !has_partial(path) && delivery_of(path, query) != nullptr;
}

const record::Done* OldContent::delivery_of(const std::string& path, const message::Query& query) const {
    if (journal_ == nullptr || journal_->earlier().done.empty()) return nullptr;
    const auto& done = journal_->earlier().done;
    const auto at = done.find(path_key(path));
    const bool same = at != done.end() && at->second.size == query.size && at->second.mtime == query.mtime;
    return same ? &at->second : nullptr;
}

void OldContent::learn_claims(const message::Query& query, const std::string& path) {
    const std::uint64_t shared = job_->temporary_for(path);
    const auto at = partials_.find(path_key(path));
    if (at != partials_.end() && at->second.shared != shared) partials_.erase(at);
    const auto claimed = job_->claimed({path, query.size, query.mtime}, *query.part);
    if (claimed.empty()) return;
    Partial& partial = partials_.try_emplace(path_key(path), Partial{path, {}, shared}).first->second;
    for (const ProvenPiece& piece : claimed) partial.pieces[piece.offset] = piece;
}

void OldContent::overwritten(const std::string& path, std::uint64_t offset) {
    if (partials_.empty()) return;
    if (const auto partial = partials_.find(path_key(path)); partial != partials_.end()) {
        partial->second.pieces.erase(offset);
    }
}

std::optional<Holding> OldContent::answer(const message::Query& query, const Reply& reply) {
    const std::string path = join_path(query.path);
    const auto say = [&](Holding has) {
        reply({query.number, has, 0, {}});
        return has;
    };
    struct stat st = {};
    const bool there = look(path, st);
    if (offer_.overwrite == Overwrite::never && (there || is_barrier(parent_.error))) return say(Holding::exists);
    if (!there) return say(Holding::nothing);
    if (offer_.overwrite == Overwrite::always || !S_ISREG(st.st_mode)) return say(Holding::nothing);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (!offer_.by_digest && size == query.size && has_time(st, query.mtime)) {
        set_mode(path, st, query.mode);
        return say(Holding::same);
    }
    // A dry run reads a file only if that may show that its content is the same.
    if (offer_.dry_run && !offer_.by_digest && size != query.size) return say(Holding::last_pieces);
    // The part goes into a file that other shards fill too, and not into a copy of the older version.
    if (query.part) return say(Holding::nothing);
    const std::size_t room = kMaxBlocks - std::min(blocks_ + kFileCost, kMaxBlocks);
    const std::uint64_t count = std::min<std::uint64_t>(common_blocks(size, query.size), room);
    if (room == 0 || (count == 0 && query.size + size > 0)) return say(Holding::nothing);
    HashingBasis file{.path = path,
                      .size_asked = query.size,
                      .count = count,
                      .fd = root_.open_at(path, kReadOnly).fd,
                      .out = {query.number, Holding::pieces, 0, {}}};
    file.whole = file.fd && ::fstat(file.fd.get(), &file.basis.st) == 0 && S_ISREG(file.basis.st.st_mode);
    reading_ = std::move(file);
    return std::nullopt;
}

void OldContent::set_mode(const std::string& path, const struct stat& st, std::uint32_t mode) {
    const std::uint32_t bits = bits_to_set(offer_);
    const std::uint32_t wanted = mode & bits;
    if (bits == 0 || offer_.dry_run || (st.st_mode & bits) == wanted) return;
    if (st.st_nlink > 1) return shared_mode_(path, wanted);
    auto [fd, error] = root_.open_at(path, kReadOnly);
    if (fd) error = transfer::set_mode(fd.get(), wanted);
    if (error != 0) report_.lacks(EntryType::file, Belonging::mode, path, error);
}

void OldContent::answer_from_journal(const message::Query& query, const Reply& reply) {
    const std::string path = join_path(query.path);
    const std::uint64_t key = path_key(path);
    if (const auto at = partials_.find(key); at != partials_.end()) {
        Partial& partial = at->second;
        const std::uint64_t unique = partial.shared != 0 ? partial.shared : journal_->unique_for(partial.path);
        const std::string temporary = path_in(split_leaf(partial.path).directory, temp_name(unique));
        ProvingPartial proving{.partial = &partial,
                               .fd = root_.open_at(temporary, kReadOnly).fd,
                               .claimed = {},
                               .out = {query.number, Holding::pieces, 0, {}}};
        if (proving.fd && !TempFile::is_adoptable(proving.fd.get())) proving.fd.reset();
        for (const auto& [offset, piece] : partial.pieces) proving.claimed.push_back(piece);
        std::ranges::sort(proving.claimed, {}, &ProvenPiece::offset);
        partial.pieces.clear();
        partial.proven = true;
        reading_ = std::move(proving);
        return;
    }
    const record::Done* const done = delivery_of(path, query);
    if (done == nullptr) return reply({query.number, Holding::nothing, 0, {}});
    UniqueFd fd = root_.open_at(path, kReadOnly).fd;
    struct stat st = {};
    const bool whole = fd && ::fstat(fd.get(), &st) == 0 && has_size(st, done->size);
    reading_.emplace<ProvingDelivered>(ProvingDelivered{.key = key,
                                                        .number = query.number,
                                                        .done = *done,
                                                        .fd = std::move(fd),
                                                        .digest = FileDigest(offer_.hash, done->size),
                                                        .st = st,
                                                        .whole = whole});
}

bool OldContent::go_on(const Reply& reply) {
    const bool more = std::visit(
        [&](auto& file) {
            if constexpr (std::is_same_v<decltype(file), std::monostate&>) {
                return true;
            } else {
                return read_more(file, reply);
            }
        },
        reading_);
    const bool any = !std::holds_alternative<std::monostate>(reading_);
    if (!more) reading_ = std::monostate();
    return any;
}

bool OldContent::read_more(HashingBasis& file, const Reply& reply) {
    auto& [st, blocks, whole] = file.basis;
    if (file.whole && blocks.size() < file.count) file.whole = hash_block(file);
    if (file.whole && blocks.size() < file.count) {
        if (file.out.pieces.size() == kMaxListItems) {
            reply(std::exchange(file.out, {file.out.number, Holding::pieces, 0, {}}));
        }
        return true;
    }
    const std::uint64_t size = file.fd ? static_cast<std::uint64_t>(st.st_size) : 0;
    whole = file.whole && size == file.size_asked && file.count == common_blocks(size, size);
    file.out.has = whole ? Holding::all_pieces : Holding::last_pieces;
    forget(file.path);
    blocks_ += blocks.size() + kFileCost;
    files_[path_key(file.path)] = std::move(file.basis);
    reply(std::move(file.out));
    return false;
}

bool OldContent::hash_block(HashingBasis& file) {
    Basis& basis = file.basis;
    const auto size = static_cast<std::uint64_t>(basis.st.st_size);
    const std::uint64_t offset = basis.blocks.size() * kPieceBytes;
    const std::uint64_t length = offset < size ? piece_length(offset, size - offset) : 0;
    const auto digest = length > 0 ? hasher_.hash(file.fd.get(), offset, length) : std::nullopt;
    if (!digest || !report_.checked(length)) return false;
    basis.blocks.push_back(*digest);
    file.out.pieces.push_back({offset, length, *digest});
    return true;
}

bool OldContent::read_more(ProvingPartial& file, const Reply& reply) {
    message::Answer& out = file.out;
    if (file.next == file.claimed.size()) {
        out.has = Holding::last_pieces;
        reply(std::move(out));
        return false;
    }
    const ProvenPiece& piece = file.claimed[file.next++];
    const auto there = file.fd ? hasher_.hash(file.fd.get(), piece.offset, piece.length) : std::nullopt;
    if (!report_.checked(there ? piece.length : 0)) return false;
    if (there != piece.digest) {
        ++out.damaged;
        return true;
    }
    file.partial->pieces[piece.offset] = piece;
    out.pieces.push_back(piece);
    if (out.pieces.size() == kMaxListItems) reply(std::exchange(out, {out.number, Holding::pieces, 0, {}}));
    return true;
}

bool OldContent::read_more(ProvingDelivered& file, const Reply& reply) {
    if (file.whole && file.offset < file.done.size) {
        const std::uint64_t length = piece_length(file.offset, file.done.size - file.offset);
        const auto block = hasher_.hash(file.fd.get(), file.offset, length);
        file.whole = block && report_.checked(length);
        if (block) file.digest.add(file.offset, length, *block);
        file.offset += length;
        if (file.whole && file.offset < file.done.size) return true;
    }
    const bool there = file.whole && file.digest.finish() == file.done.digest;
    if (there) delivered_[file.key] = file.st;
    reply({file.number, there ? Holding::file : Holding::nothing, there ? 0U : 1U, {}});
    return false;
}

std::optional<OldContent::Proven> OldContent::proven(const std::string& path, const Extent& piece) const {
    const std::uint64_t key = path_key(path);
    if (const auto partial = partials_.find(key); partial != partials_.end() && partial->second.proven) {
        const auto at = partial->second.pieces.find(piece.offset);
        if (at != partial->second.pieces.end() && at->second.length == piece.length) {
            return Proven{at->second.digest, true};
        }
    }
    const auto at = files_.find(key);
    if (at == files_.end() || piece.offset % kPieceBytes != 0) return std::nullopt;
    const std::uint64_t ordinal = piece.offset / kPieceBytes;
    const Basis& basis = at->second;
    const auto size = static_cast<std::uint64_t>(basis.st.st_size);
    if (ordinal >= basis.blocks.size() || piece.length != piece_length(piece.offset, size - piece.offset)) {
        return std::nullopt;
    }
    return Proven{basis.blocks[static_cast<std::size_t>(ordinal)]};
}

std::optional<OldContent::ProvenFile> OldContent::proven_file(const std::string& path, std::uint64_t size) const {
    const std::uint64_t key = path_key(path);
    if (const auto at = delivered_.find(key); at != delivered_.end() && has_size(at->second, size)) {
        return ProvenFile{at->second, true};
    }
    const auto at = files_.find(key);
    const bool proven = at != files_.end() && at->second.whole && has_size(at->second.st, size);
    return proven ? std::optional(ProvenFile{at->second.st}) : std::nullopt;
}

Result<void> OldContent::copy(const std::string& path, const Extent& extent, TempFile& to) {
    const auto at = files_.find(path_key(path));
    auto [fd, error] = root_.open_at(path, kReadOnly);
    if (at == files_.end() || !fd) return io_error("cannot read the older version of", path, fd ? ENOENT : error);
    if (auto copied = to.copy_from(fd.get(), extent); !copied) return copied;
    struct stat now = {};
    if (::fstat(fd.get(), &now) != 0 || !same_content(at->second.st, now)) return changed_here(path);
    return {};
}

void OldContent::forget(const std::string& path) {
    if (files_.empty()) return;
    const auto at = files_.find(path_key(path));
    if (at == files_.end()) return;
    blocks_ -= at->second.blocks.size() + kFileCost;
    files_.erase(at);
}

bool Holdings::may_come(const message::Query& query, const std::string& path) {
    auto free = tree_.claims.take(path);
    if (!free && tree_.old.is_same(path, query.size, query.mtime)) {
        free = tree_.claims.take(path, EntryClaims::For::keeping);
    }
    if (!free) {
        together_.insert(path_key(path));
        tree_.fail(kNoEntry, path, free.error());
        return false;
    }
    // If --delete must empty a directory first, that happens when the file has arrived.
    if (tree_.eraser || tree_.old.must_stay(path) || !tree_.old.is_directory(path)) return true;
    const auto way = check_way(tree_.root, path, nullptr);
    if (!way) tree_.fail(kNoEntry, path, way.error());
    return way.ok();
}

bool Holdings::is_journaled(const message::Query& query, const std::string& path) {
    if (tree_.run.journal == nullptr || tree_.old.must_stay(path)) return false;
    // If the right file was put there meanwhile, it is not sent again to complete what an earlier run left.
    const bool stands = tree_.old.has_partial(path) && tree_.offer.overwrite != Overwrite::always &&
                        tree_.old.is_same(path, query.size, query.mtime);
    if (stands || !tree_.old.is_journaled(path, query)) return false;
    // What was delivered before has the size and time of the source, and may differ from it all the same.
    return !tree_.offer.by_digest || !tree_.old.was_delivered(path, query);
}

bool Holdings::go_on(const Reply& reply) { return tree_.old.go_on(reply); }

void Holdings::answer(const message::Query& query, const Reply& reply) {
    if (!check_path(query.path)) return reply({query.number, Holding::nothing, 0, {}});
    const std::string path = join_path(query.path);
    if (tree_.eraser) tree_.eraser->keep(path, false);
    if (!may_come(query, path)) {
        note_stays(query, path, Holding::blocked);
        return reply({query.number, Holding::blocked, 0, {}});
    }
    if (is_journaled(query, path)) {
        // The file of the earlier run stays: a name with another spelling must not claim it because it looks the same.
        if (tree_.old.was_delivered(path, query)) tree_.claims.note_kept(path);
        return tree_.old.answer_from_journal(query, reply);
    }
    const auto has = tree_.old.answer(query, reply);
    if (has == Holding::same || has == Holding::exists) tree_.claims.note_kept(path);
    // With a receipt each file is announced, if only as kept, and is counted then.
    if (has == Holding::same && !tree_.options.receipt) {
        note_stays(query, path, *has);
        tree_.note_unchanged(EntryType::file, path);
    }
    if (has == Holding::exists) {
        note_stays(query, path, *has);
        tree_.report.ended(Ended::skipped, EntryType::file, path, 0);
    }
}

void Holdings::note_stays(const message::Query& query, const std::string& path, Holding has) {
    // Only files of the first queries are sent ahead of the answers.
    if (query.number < kAskedEarly && stays_.size() < kAskedEarly)
        stays_[path_key(path)] = {has, query.size, query.mtime};
}

bool Holdings::stays(const message::Entry& entry, const std::string& path) const {
    const auto at = stays_.find(path_key(path));
    if (at == stays_.end()) return false;
    // If the file changed after the query, the answer was not about this version.
    return at->second.has != Holding::same || (at->second.size == entry.size && at->second.mtime == entry.mtime);
}

bool Holdings::fell_together(const std::string& path) const {
    return !together_.empty() && together_.count(path_key(path)) > 0;
}

}  // namespace udtx::transfer

#include "transfer/landing/basis_files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
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

}  // namespace

Error changed_here(const std::string& path) {
    return {ErrorCode::file_io,
            "'" + escape_name(path) + "' was changed here by another program during the transfer: repeat the command"};
}

BasisFiles::BasisFiles(const ConfinedDir& root, BasisOptions options, Report& report)
    : root_(root), options_(options), report_(report), hasher_(options.hash) {}

bool BasisFiles::look(const std::string& path, struct stat& st) {
    SplitName split = split_leaf(path);
    if (!directory_fd_ || split.directory != directory_) {
        directory_fd_ = root_.open_directory(split.directory, directory_error_);
        directory_ = std::move(split.directory);
    }
    return directory_fd_ && ::fstatat(directory_fd_.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool BasisFiles::must_stay(const std::string& path) {
    struct stat st = {};
    return options_.overwrite == Overwrite::never && (look(path, st) || is_barrier(directory_error_));
}

bool BasisFiles::is_directory(const std::string& path) {
    struct stat st = {};
    return look(path, st) && S_ISDIR(st.st_mode);
}

bool BasisFiles::is_same(const std::string& path, std::uint64_t size, const FileTime& mtime) {
    struct stat st = {};
    return !options_.by_digest && look(path, st) && S_ISREG(st.st_mode) &&
           static_cast<std::uint64_t>(st.st_size) == size && has_time(st, mtime);
}

std::optional<Holding> BasisFiles::answer(const message::Query& query, const Reply& reply) {
    const std::string path = join_path(query.path);
    const auto say = [&](Holding has) {
        reply({query.number, has, 0, {}});
        return has;
    };
    struct stat st = {};
    const bool there = look(path, st);
    if (options_.overwrite == Overwrite::never && (there || is_barrier(directory_error_))) return say(Holding::exists);
    if (!there) return say(Holding::nothing);
    if (options_.overwrite == Overwrite::always || !S_ISREG(st.st_mode)) return say(Holding::nothing);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (!options_.by_digest && size == query.size && has_time(st, query.mtime)) {
        set_mode(path, st, query.mode);
        return say(Holding::same);
    }
    // A dry run reads a file only if that may show that its content is the same.
    if (options_.dry_run && !options_.by_digest && size != query.size) return say(Holding::last_pieces);
    // The part goes into a file that other shards fill too, and not into a copy of the older version.
    if (query.part) return say(Holding::nothing);
    const std::size_t room = kMaxBlocks - std::min(blocks_ + kFileCost, kMaxBlocks);
    const std::uint64_t count = std::min<std::uint64_t>(common_blocks(size, query.size), room);
    if (room == 0 || (count == 0 && query.size + size > 0)) return say(Holding::nothing);
    begin_hashing(path, query, count);
    return std::nullopt;
}

void BasisFiles::set_mode(const std::string& path, const struct stat& st, std::uint32_t mode) {
    const std::uint32_t wanted = mode & options_.mode_bits;
    if (options_.mode_bits == 0 || options_.dry_run || (st.st_mode & options_.mode_bits) == wanted) return;
    if (st.st_nlink > 1) return shared_mode_(path, wanted);
    int error = 0;
    const UniqueFd fd = root_.open_at(path, kReadOnly, 0, error);
    if (fd) error = transfer::set_mode(fd.get(), wanted);
    if (error != 0) report_.lacks(EntryType::file, Belonging::mode, path, error);
}

void BasisFiles::begin_hashing(const std::string& path, const message::Query& query, std::uint64_t count) {
    int error = 0;
    hashing_ = Hashing{};
    Hashing& file = *hashing_;
    file.path = path;
    file.size_asked = query.size;
    file.count = count;
    file.fd = root_.open_at(path, kReadOnly, 0, error);
    file.out = {query.number, Holding::pieces, 0, {}};
    file.whole = file.fd && ::fstat(file.fd.get(), &file.basis.st) == 0 && S_ISREG(file.basis.st.st_mode);
}

bool BasisFiles::go_on(const Reply& reply) {
    if (!hashing_) return false;
    Hashing& file = *hashing_;
    if (file.whole && file.basis.blocks.size() < file.count) file.whole = hash_block(file);
    if (!file.whole || file.basis.blocks.size() >= file.count) {
        end_hashing(reply);
    } else if (file.out.pieces.size() == kMaxListItems) {
        reply(std::exchange(file.out, {file.out.number, Holding::pieces, 0, {}}));
    }
    return true;
}

bool BasisFiles::hash_block(Hashing& file) {
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

void BasisFiles::end_hashing(const Reply& reply) {
    Hashing file = std::move(*hashing_);
    hashing_.reset();
    const std::uint64_t size = file.fd ? static_cast<std::uint64_t>(file.basis.st.st_size) : 0;
    file.basis.whole = file.whole && size == file.size_asked && file.count == common_blocks(size, size);
    file.out.has = file.basis.whole ? Holding::all_pieces : Holding::last_pieces;
    forget(file.path);
    blocks_ += file.basis.blocks.size() + kFileCost;
    files_[path_key(file.path)] = std::move(file.basis);
    reply(std::move(file.out));
}

std::optional<Digest> BasisFiles::proven(const std::string& path, const Extent& piece) const {
    if (files_.empty()) return std::nullopt;
    const auto at = files_.find(path_key(path));
    if (at == files_.end() || piece.offset % kPieceBytes != 0) return std::nullopt;
    const std::uint64_t ordinal = piece.offset / kPieceBytes;
    const Basis& basis = at->second;
    const auto size = static_cast<std::uint64_t>(basis.st.st_size);
    if (ordinal >= basis.blocks.size() || piece.length != piece_length(piece.offset, size - piece.offset)) {
        return std::nullopt;
    }
    return basis.blocks[static_cast<std::size_t>(ordinal)];
}

const struct stat* BasisFiles::proven_file(const std::string& path, std::uint64_t size) const {
    const auto at = files_.find(path_key(path));
    const bool proven =
        at != files_.end() && at->second.whole && static_cast<std::uint64_t>(at->second.st.st_size) == size;
    return proven ? &at->second.st : nullptr;
}

bool BasisFiles::knows(const std::string& path) const { return !files_.empty() && files_.count(path_key(path)) > 0; }

Result<void> BasisFiles::copy(const std::string& path, const Extent& extent, TempFile& to) {
    const auto at = files_.find(path_key(path));
    int error = 0;
    const UniqueFd fd = root_.open_at(path, kReadOnly, 0, error);
    if (at == files_.end() || !fd) return io_error("cannot read the older version of", path, fd ? ENOENT : error);
    if (auto copied = to.copy_from(fd.get(), extent); !copied) return copied;
    struct stat now = {};
    if (::fstat(fd.get(), &now) != 0 || !same_content(at->second.st, now)) return changed_here(path);
    return {};
}

void BasisFiles::forget(const std::string& path) {
    if (files_.empty()) return;
    const auto at = files_.find(path_key(path));
    if (at == files_.end()) return;
    blocks_ -= at->second.blocks.size() + kFileCost;
    files_.erase(at);
}

}  // namespace udtx::transfer

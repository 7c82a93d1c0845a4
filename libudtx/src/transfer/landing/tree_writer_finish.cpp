// The part of the tree writer that does what has to wait for everything else, and what comes on top of a file's
// content.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transfer/file/attributes.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Hard links wait for the end: what a sender may have waiting, names and all.
constexpr std::size_t kMaxHardLinkBytes = 64U << 20U;

}  // namespace

std::optional<Digest> TreeWriter::finish(const std::function<bool()>& all_well) {
    switch (ending_) {
        case Ending::files:
            if (!files_.empty()) {
                const auto& [index, file] = *files_.begin();
                drop(index, {ErrorCode::protocol, "'" + escape_name(file.path) + "' is incomplete"});
                break;
            }
            committer_->flush();
            ending_ = Ending::links;
            break;
        case Ending::links:
            make_hard_links();
            if (hard_links_.empty() && !copying_) ending_ = Ending::durable;
            break;
        case Ending::durable:
            committer_->flush();
            ending_ = Ending::rest;
            // Otherwise what is there has come in this run.
            if (eraser_ && all_well() && options_.occupied) {
                ending_ = Ending::erasing;
                if (auto begun = eraser_->begin(); !begun) fail(kNoEntry, "--delete", begun.error());
            }
            break;
        case Ending::erasing:
            if (!eraser_->go_on()) ending_ = Ending::rest;
            break;
        case Ending::rest:
            basis_.close();
            if (!std::exchange(names_synced_, true)) sync_names();
            if (!directories_.empty()) {
                restore_last_directory();
                break;
            }
            restore_directories();
            close_journal(true);
            // The journal's end has changed its time.
            if (top_) restore_directory(*top_);
            tell_lost_times();
            return root_digest_.finish();
    }
    return std::nullopt;
}

void TreeWriter::set_meta(const message::Meta& meta) {
    if (const auto at = files_.find(meta.index); at != files_.end()) {
        OpenFile& file = at->second;
        if (options_.owner && meta.has_owner) file.attributes.owner = Owner{meta.user, meta.group};
        if (meta.attributes.empty()) return;
        if (const auto opened = ensure_open(meta.index, file); !opened) return drop(meta.index, opened.error());
        const int error = file.file->set_attributes(meta.attributes);
        if (error != 0) callbacks_.unset(EntryType::file, Belonging::attributes, file.path, error);
        return;
    }
    if (meta.index != latest_index_) return;
    if (latest_directory_) update_meta(meta, *latest_directory_, EntryType::directory);
    if (!latest_kept_.empty()) update_meta(meta, latest_kept_, EntryType::file);
}

void TreeWriter::update_meta(const message::Meta& meta, const std::string& path, EntryType type) {
    int error = 0;
    struct stat st = {};
    const UniqueFd fd = root_.open_at(path, type == EntryType::directory ? O_RDONLY | O_DIRECTORY : O_RDONLY, 0, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    const bool owner = options_.owner && meta.has_owner;
    if (error != 0) {
        if (owner) callbacks_.unset(type, Belonging::owner, path, error);
        // Its owner may have no right to read it, and nothing is to be set.
        if (!meta.attributes.empty()) callbacks_.unset(type, Belonging::attributes, path, error);
        return;
    }
    if (owner && (st.st_uid != meta.user || st.st_gid != meta.group)) {
        error = set_owner(fd.get(), {meta.user, meta.group});
        if (error != 0) callbacks_.unset(type, Belonging::owner, path, error);
        // They go with the owner.
        const bool special =
            error == 0 && options_.set_id && type == EntryType::file && (st.st_mode & mode_bits::kSetId) != 0;
        error = special ? set_mode(fd.get(), st.st_mode & mode_bits::kAll) : 0;
        if (error != 0) callbacks_.unset(type, Belonging::mode, path, error);
    }
    error = write_attributes(fd.get(), meta.attributes, meta.has_attributes);
    // Of a file that its owner may not write: the right is lent.
    if (error == EACCES && st.st_uid == ::geteuid() && (st.st_mode & mode_bits::kOwnerWrite) == 0 &&
        set_mode(fd.get(), (st.st_mode & mode_bits::kAll) | mode_bits::kOwnerWrite) == 0) {
        error = write_attributes(fd.get(), meta.attributes, meta.has_attributes);
        if (const int failed = set_mode(fd.get(), st.st_mode & mode_bits::kAll); failed != 0) {
            callbacks_.unset(type, Belonging::mode, path, failed);
        }
    }
    if (error != 0) callbacks_.unset(type, Belonging::attributes, path, error);
}

void TreeWriter::remember_hard_link(const message::Entry& entry, const std::string& path) {
    if (auto checked = check_path(split_path(entry.target)); !checked) return fail(entry.index, path, checked.error());
    hard_link_bytes_ += sizeof entry + path.size() + entry.path.size() * sizeof(std::string) + entry.target.size();
    if (hard_link_bytes_ > kMaxHardLinkBytes) {
        return fail(entry.index, path, {ErrorCode::refused, "there are too many hard links in one transfer"});
    }
    hard_links_.push_back(entry);
}

void TreeWriter::make_hard_links() {
    if (copying_) return copy_more();
    if (hard_links_.empty()) return;
    const message::Entry entry = std::move(hard_links_.front());
    hard_links_.pop_front();
    make_hard_link(entry);
}

void TreeWriter::count_standing_links() {
    for (const message::Entry& entry : std::exchange(hard_links_, {})) {
        const std::string path = join_path(entry.path);
        if (is_same_file(root_, path, join_path(split_path(entry.target)))) {
            note_unchanged(entry.type, path);
        } else if (basis_.must_stay(path)) {
            callbacks_.skipped(entry.type);
        }
    }
}

void TreeWriter::make_hard_link(const message::Entry& entry) {
    const std::string path = join_path(entry.path);
    SplitName split = split_leaf(path);
    const SplitName other = split_leaf(join_path(split_path(entry.target)));
    if (is_same_file(root_, path, join_path(split_path(entry.target)))) return note_unchanged(entry.type, path);
    if (basis_.must_stay(path)) return callbacks_.skipped(entry.type);
    int error = 0;
    const UniqueFd parent = root_.open_directory(split.directory, error);
    const UniqueFd other_parent = parent ? root_.open_directory(other.directory, error) : UniqueFd();
    if (!other_parent) return fail(entry.index, path, io_error("cannot make link", path, error));
    struct stat st = {};
    const bool file = ::fstatat(other_parent.get(), other.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!file || !S_ISREG(st.st_mode)) {
        return fail(entry.index, path, io_error("cannot make link", path, file ? EPERM : ENOENT));
    }
    const FileId is = FileId::of(st);
    if (!own_files_.has(path_in(other.directory, other.leaf), is)) {
        return fail(entry.index, path,
                    {ErrorCode::file_io, "cannot make link '" + escape_name(path) + "': '" + escape_name(entry.target) +
                                             "', which it is another name of, did not arrive"});
    }
    std::string temporary = temp_name(unique_of_link(entry.index, path));
    const auto linked = lent_.with(split.directory, [&] {
        return make_link(path, parent.get(), temporary, [&] {
            return ::linkat(other_parent.get(), other.leaf.c_str(), parent.get(), temporary.c_str(), 0);
        });
    });
    if (!linked) return copy_for_link(entry, path, st, linked.error().system_error);
    const auto way = make_way_for_link(path, parent.get(), temporary);
    if (!way) return fail(entry.index, path, way.error());
    Commit commit;
    commit.index = entry.index;
    commit.type = EntryType::hard_link;
    commit.is = is;
    commit.directory = std::move(split.directory);
    commit.temporary = std::move(temporary);
    commit.name = std::move(split.leaf);
    commit.keep_existing = options_.overwrite == Overwrite::never;
    submit(std::move(commit), *way);
}

void TreeWriter::copy_for_link(const message::Entry& entry, const std::string& path, const struct stat& of,
                               int error_number) {
    const auto size = static_cast<std::uint64_t>(of.st_size);
    if (basis_.is_same(path, size, mtime_of(of))) {
        callbacks_.unset(EntryType::file, Belonging::hard_link, path, error_number);
        return note_unchanged(entry.type, path);
    }
    FileAttributes attributes;
    attributes.mode = of.st_mode & mode_bits::kAll;
    attributes.exact_mode = true;
    attributes.set_mtime = true;
    attributes.mtime = mtime_of(of);
    if (options_.owner) attributes.owner = Owner{of.st_uid, of.st_gid};
    int error = 0;
    UniqueFd from = root_.open_at(join_path(split_path(entry.target)), O_RDONLY, 0, error);
    if (!from) return fail(entry.index, path, io_error("cannot read for its other name", path, error));
    const std::uint64_t unique = unique_of_link(entry.index, path);
    const auto existing = resume_ ? TempFile::Existing::replace : TempFile::Existing::refuse;
    auto file = lent_.with(split_leaf(path).directory,
                           [&] { return TempFile::create(root_, path, unique, attributes, existing); });
    if (!file) return fail(entry.index, path, file.error());
    if (const auto room = find_room(*file, size); !room) {
        file->remove(root_);
        return fail(entry.index, path, room.error());
    }
    copying_.emplace(
        LinkCopy{entry.index, path, attributes, size, error_number, std::move(from), std::move(file).value()});
}

void TreeWriter::copy_more() {
    LinkCopy& copy = *copying_;
    Result<void> done;
    if (copy.copied < copy.size) {
        const Extent next{copy.copied, std::min(copy.size - copy.copied, kPieceBytes)};
        done = copy.file.copy_from(copy.from.get(), next);
        copy.copied += next.length;
        if (done && copy.copied < copy.size) return;
    }
    std::vector<message::Attribute> extended;
    static_cast<void>(read_attributes(copy.from.get(), extended));
    const int failed = done && !extended.empty() ? copy.file.set_attributes(extended) : 0;
    if (failed != 0) callbacks_.unset(EntryType::file, Belonging::attributes, copy.path, failed);
    if (done) done = copy.file.complete(copy.size, copy.attributes, unset_of(copy.path));
    LinkCopy over = std::move(*copying_);
    copying_.reset();
    Result<bool> way = done ? make_way(over.path, [&] { return over.file.try_commit(root_); }) : done.error();
    if (!way) {
        over.file.remove(root_);
        return fail(over.index, over.path, way.error());
    }
    callbacks_.unset(EntryType::file, Belonging::hard_link, over.path, over.error_number);
    Commit commit = over.file.into_commit(over.index, over.size, true);
    commit.keep_existing = options_.overwrite == Overwrite::never;
    submit(std::move(commit), *way);
}

void TreeWriter::add_rules(const message::Rules& rules) {
    if (!eraser_) return;
    if (auto added = eraser_->add(rules); !added) callbacks_.fatal(added.error());
}

void TreeWriter::note_unsent(const message::Unsent& unsent) {
    if (!eraser_) return;
    for (const std::string& path : unsent.paths) eraser_->keep_unsent(path);
}

void TreeWriter::note_unchanged(EntryType type, const std::string& path) {
    unsynced_.note(split_leaf(path).directory);
    if (type == EntryType::file) note_own(path);
    callbacks_.unchanged(type);
}

void TreeWriter::note_own(const std::string& path) {
    struct stat st = {};
    if (basis_.look(path, st)) own_files_.add(path, FileId::of(st));
}

void TreeWriter::note_erased(const std::string& path) {
    unsynced_.note(split_leaf(path.substr(0, path.find_last_not_of('/') + 1)).directory);
    callbacks_.erased(path);
}

void TreeWriter::sync_names() {
    if (const int error = unsynced_.sync_all(); error != 0) fail(kNoEntry, ".", io_error("cannot sync", ".", error));
}

void TreeWriter::restore_last_directory() {
    const FinishedDirectory directory = std::move(directories_.back());
    directories_.pop_back();
    restore_directory(directory);
    lent_.settled(directory.path);
}

void TreeWriter::restore_directories() {
    basis_.close();
    // Deepest last-made first: setting a child's mode does not change its parent's time, but a closed parent would
    // bar the way to the child.
    while (!directories_.empty()) restore_last_directory();
    // Those that were not sent, or that an earlier run opened up.
    lent_.give_back([this](const std::string& path, int error_number) {
        callbacks_.unset(EntryType::directory, Belonging::mode, path, error_number);
    });
}

void TreeWriter::restore_directory(const FinishedDirectory& directory) {
    const auto unset = [&](Belonging what, int error_number) {
        callbacks_.unset(EntryType::directory, what, directory.path, error_number);
    };
    int error = 0;
    struct stat st = {};
    const UniqueFd fd = root_.open_directory(directory.path, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error != 0) return unset(Belonging::mode, error);
    // Without preserve the umask has already been at work: only the owner's extra rights are to go.
    const std::uint32_t wanted =
        options_.preserve ? directory.mode : st.st_mode & (directory.mode | ~mode_bits::kOwner) & mode_bits::kAll;
    if (error = set_mode(fd.get(), wanted); error != 0) unset(Belonging::mode, error);
    if (!options_.preserve || mtime_of(st) == directory.mtime) return;
    if (error = set_file_time(fd.get(), directory.mtime); error != 0) return unset(Belonging::time, error);
    // One that has had what the disk makes of its time is as it was.
    struct stat after = {};
    const bool changed = ::fstat(fd.get(), &after) == 0 && mtime_of(st) != mtime_of(after);
    if (changed) lost_times_.look(after, directory.path, directory.mtime);
}

void TreeWriter::tell_lost_times() {
    if (const std::string text = lost_times_.take(); !text.empty()) callbacks_.noted(text);
}

}  // namespace udtx::transfer

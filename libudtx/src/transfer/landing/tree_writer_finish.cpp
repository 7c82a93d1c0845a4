// The part of the tree writer that does what has to wait for everything else, and what comes on top of a file's
// content.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transfer/file/attributes.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

// Hard links wait for the end: what a sender may have waiting, names and all.
constexpr std::size_t kMaxHardLinkBytes = 64U << 20U;

}  // namespace

Digest TreeWriter::finish(const std::function<bool()>& all_well) {
    while (!files_.empty()) {
        const auto& [index, file] = *files_.begin();
        drop(index, {ErrorCode::protocol, "'" + escape_name(file.path) + "' is incomplete"});
    }
    committer_->flush();
    make_hard_links();
    if (eraser_ && all_well()) erase();
    restore_directories();
    tell_lost_times();
    close_journal(true);
    return root_digest_.finish();
}

void TreeWriter::set_meta(const message::Meta& meta) {
    const bool owner = options_.owner && meta.has_owner;
    if (const auto at = files_.find(meta.index); at != files_.end()) {
        OpenFile& file = at->second;
        Result<void> done = ensure_open(meta.index, file);
        if (done && owner) done = file.file->set_owner(meta.user, meta.group);
        if (done && !meta.attributes.empty()) done = file.file->set_attributes(meta.attributes);
        if (!done) drop(meta.index, done.error());
        return;
    }
    if (meta.index != latest_index_) return;
    if (!latest_directory_.empty()) update_meta(meta, latest_directory_, O_RDONLY | O_DIRECTORY);
    if (!latest_kept_.empty()) update_meta(meta, latest_kept_, O_RDONLY);
}

void TreeWriter::update_meta(const message::Meta& meta, const std::string& path, int flags) {
    int error = 0;
    struct stat st = {};
    const UniqueFd fd = root_.open_at(path, flags, 0, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    const bool owner =
        error == 0 && options_.owner && meta.has_owner && (st.st_uid != meta.user || st.st_gid != meta.group);
    if (fd && owner && ::fchown(fd.get(), meta.user, meta.group) != 0) error = errno;
    if (fd && error == 0) error = write_attributes(fd.get(), meta.attributes, meta.has_attributes);
    // Its owner may have no right to read it, and nothing is to be set.
    if (!fd && error == EACCES && meta.attributes.empty()) return;
    if (error != 0) fail(meta.index, path, io_error("cannot set what belongs to", path, error));
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
    if (hard_links_.empty()) return;
    for (const message::Entry& entry : std::exchange(hard_links_, {})) make_hard_link(entry);
    committer_->flush();
}

void TreeWriter::count_standing_links() {
    for (const message::Entry& entry : std::exchange(hard_links_, {})) {
        const std::string path = join_path(entry.path);
        if (is_same_file(root_, path, join_path(split_path(entry.target)))) {
            callbacks_.unchanged(entry.type);
        } else if (basis_.must_stay(path)) {
            callbacks_.skipped(entry.type);
        }
    }
}

void TreeWriter::make_hard_link(const message::Entry& entry) {
    const std::string path = join_path(entry.path);
    SplitName split = split_leaf(path);
    const SplitName other = split_leaf(join_path(split_path(entry.target)));
    if (is_same_file(root_, path, join_path(split_path(entry.target)))) return callbacks_.unchanged(entry.type);
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
    if (const auto way = make_way(path); !way) return fail(entry.index, path, way.error());
    std::string temporary = temp_name(split.leaf, options_.unique + entry.index);
    if (::linkat(other_parent.get(), other.leaf.c_str(), parent.get(), temporary.c_str(), 0) != 0) {
        return fail(entry.index, path, io_error("cannot make link", path, errno));
    }
    Commit commit;
    commit.index = entry.index;
    commit.type = EntryType::hard_link;
    commit.directory = std::move(split.directory);
    commit.temporary = std::move(temporary);
    commit.name = std::move(split.leaf);
    commit.keep_existing = options_.overwrite == Overwrite::never;
    committer_->submit(std::move(commit));
}

void TreeWriter::add_rules(const message::Rules& rules) {
    if (!eraser_) return;
    if (auto added = eraser_->add(rules); !added) callbacks_.fatal(added.error());
}

void TreeWriter::erase() {
    if (auto erased = eraser_->run(); !erased) fail(kNoEntry, "--delete", erased.error());
}

void TreeWriter::restore_directories() {
    basis_.close();
    // Deepest last-made first: setting a child's mode does not change its parent's time, but a closed parent would
    // bar the way to the child.
    for (auto directory = directories_.rbegin(); directory != directories_.rend(); ++directory) {
        int ignored = 0;
        const UniqueFd fd = root_.open_directory(directory->path, ignored);
        if (!fd) continue;
        struct stat before = {};
        struct stat after = {};
        if (::fstat(fd.get(), &before) != 0) continue;
        restore_directory(fd.get(), directory->mode, options_.preserve, directory->mtime);
        // One that has had what the disk makes of its time is as it was.
        const bool changed = ::fstat(fd.get(), &after) == 0 && mtime_of(before) != mtime_of(after);
        if (options_.preserve && changed) lost_times_.look(after, directory->path, directory->mtime);
    }
    directories_.clear();
}

void TreeWriter::tell_lost_times() {
    if (const std::string text = lost_times_.take(); !text.empty()) callbacks_.noted(text);
}

}  // namespace udtx::transfer

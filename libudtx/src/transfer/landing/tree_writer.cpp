#include "transfer/landing/tree_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

TreeWriter::TreeWriter(ConfinedDir root, const message::Offer& agreed, const LandingOptions& options, TreeRun run,
                       Report& report)
    : tree_(std::move(root), agreed, options, run, report),
      holdings_(tree_),
      files_(tree_, holdings_),
      directories_(tree_),
      links_(tree_),
      root_digest_(agreed.hash) {}

TreeWriter::~TreeWriter() { abandon(); }

void TreeWriter::begin_entry(const message::Entry& entry) {
    const bool top = entry.path.empty();
    const std::string path = join_path(entry.path);
    if (auto checked = check_path(entry.path); !top && !checked) {
        return tree_.fail(entry.index, path, checked.error());
    }
    if (tree_.eraser && !top) tree_.eraser->keep(path, entry.type == EntryType::directory);
    latest_index_ = entry.index;
    standing_.reset();
    if (top || entry.type == EntryType::directory) {
        using Stands = MadeDirectories::Stands;
        const Stands stands = !top                           ? directories_.make(entry, path)
                              : directories_.take_top(entry) ? Stands::made
                                                             : Stands::no;
        if (stands != Stands::no) standing_ = Standing{EntryType::directory, path, stands == Stands::unchanged};
    } else if (entry.type == EntryType::symlink) {
        make_symlink(entry, path);
    } else if (entry.type == EntryType::hard_link) {
        tree_.shared.note_link(path, entry.target);
        links_.add(entry, path);
    } else {
        files_.begin(entry, path);
    }
}

void TreeWriter::make_symlink(const message::Entry& entry, const std::string& path) {
    if (entry.target.empty() || entry.target.find('\0') != std::string::npos) {
        return tree_.fail(entry.index, path,
                          {ErrorCode::refused, "link '" + escape_name(path) + "' has no usable target"});
    }
    SplitName split = split_leaf(path);
    const OpenedFd opened = tree_.root.open_directory(split.directory);
    const UniqueFd& parent = opened.fd;
    if (tree_.stays(opened.error)) return tree_.report.ended(Ended::skipped, entry.type, path, 0);
    if (!parent) return tree_.fail(entry.index, path, io_error("cannot make link", path, opened.error));
    if (const auto free = tree_.claims.take(path); !free) return tree_.fail(entry.index, path, free.error());
    if (is_link_to(tree_.root, path, entry.target)) {
        tree_.claims.note_kept(path);
        return tree_.note_unchanged(entry.type, path);
    }
    const std::string temporary = temp_name(tree_.unique_of_link(entry.index, path));
    const auto made = tree_.lent.with(split.directory, [&] {
        return tree_.make_link(path, parent.get(), temporary,
                               [&] { return ::symlinkat(entry.target.c_str(), parent.get(), temporary.c_str()); });
    });
    if (!made) return tree_.fail(entry.index, path, made.error());
    struct stat st = {};
    const int error = tree_.offer.preserve ? set_link_time(parent.get(), temporary, entry.mtime) : 0;
    if (error != 0) {
        tree_.report.lacks(EntryType::symlink, Belonging::time, path, error);
    } else if (tree_.offer.preserve && ::fstatat(parent.get(), temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
        tree_.lost_times.look(st, path, entry.mtime);
    }
    CommitOrder commit;
    commit.index = entry.index;
    commit.type = EntryType::symlink;
    commit.directory = std::move(split.directory);
    commit.temporary = temporary;
    commit.name = std::move(split.leaf);
    tree_.submit_link(std::move(commit), parent.get());
}

void TreeWriter::set_meta(const message::Meta& meta) {
    if (files_.set_meta(meta)) return;
    if (meta.index == latest_index_ && standing_) update_meta(meta, *standing_);
}

void TreeWriter::update_meta(const message::Meta& meta, Standing& entry) {
    auto& [type, path, unchanged] = entry;
    struct stat st = {};
    auto [fd, error] = tree_.root.open_at(path, type == EntryType::directory ? O_RDONLY | O_DIRECTORY : O_RDONLY);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    Change change;
    if (tree_.offer.owner && meta.has_owner) change.owner = Owner{meta.user, meta.group};
    if (error != 0) {
        if (change.owner) tree_.report.lacks(type, Belonging::owner, path, error);
        // The owner may have no right to read it, which does not matter if there is nothing to set.
        if (!meta.attributes.empty()) tree_.report.lacks(type, Belonging::attributes, path, error);
        return;
    }
    change.attributes = meta.attributes;
    change.all_attributes = meta.has_attributes;
    if (!tree_.shared.differs(path, fd.get(), st, change)) return;
    if (std::exchange(unchanged, false)) tree_.report.ended(Ended::updated, type, path, 0);
    if (type == EntryType::file && st.st_nlink > 1) return tree_.shared.defer(path, std::move(change));
    tree_.shared.set(type, path, fd.get(), st, change);
}

void TreeWriter::end_file(const message::FileEnd& end, std::uint64_t pieces) {
    if (end.status == FileStatus::ok) root_digest_.add(end.index, end.digest);
    if (auto kept = files_.end(end, pieces)) standing_ = Standing{EntryType::file, std::move(*kept), false};
}

void TreeWriter::add_rules(const message::Rules& rules) {
    if (!tree_.eraser) return;
    if (auto added = tree_.eraser->add(rules); !added) tree_.report.fatal(added.error());
}

void TreeWriter::note_unsent(const message::Unsent& unsent) {
    if (!tree_.eraser) return;
    for (const std::string& path : unsent.paths) tree_.eraser->keep_unsent(path);
}

std::optional<Digest> TreeWriter::finish(const std::function<bool()>& all_well,
                                         const std::function<void(const Digest&)>& settled) {
    switch (ending_) {
        case Ending::files:
            if (files_.fail_next()) break;
            tree_.flush();
            ending_.enter(Ending::shared);
            break;
        case Ending::shared:
            if (tree_.shared.go_on()) break;
            tree_.flush();
            ending_.enter(Ending::links);
            break;
        case Ending::links:
            if (!links_.go_on()) ending_.enter(Ending::durable);
            break;
        case Ending::durable:
            tree_.flush();
            // In an empty destination, everything has arrived in this run.
            if (!tree_.eraser || !all_well() || !tree_.run.occupied) {
                ending_.enter(Ending::rest);
                break;
            }
            ending_.enter(Ending::erasing);
            if (auto begun = tree_.eraser->begin(); !begun) tree_.fail(kNoEntry, ".", begun.error());
            break;
        case Ending::erasing:
            if (!tree_.eraser->go_on()) ending_.enter(Ending::rest);
            break;
        case Ending::rest: {
            tree_.old.close();
            tree_.sync_names();
            if (directories_.finish_next()) break;
            directories_.finish_all();
            tree_.close_journal(true);
            const Digest root = root_digest_.finish();
            settled(root);
            // Removing the journal and the shards' files has changed the root's time.
            directories_.finish_top();
            tree_.tell_lost_times();
            return root;
        }
    }
    return std::nullopt;
}

void TreeWriter::abandon() noexcept {
    // A step that fails for lack of memory or of a committer leaves what a kill would leave. The other steps are still
    // done.
    const auto attempt = [](const auto& step) {
        try {
            step();
        } catch (const std::exception&) {
        }
    };
    attempt([this] { files_.abandon(); });
    files_.clear();
    attempt([this] { tree_.flush(); });
    attempt([this] { links_.drop_copy(); });
    attempt([this] { links_.give_up(); });
    attempt([this] { directories_.finish_all(); });
    attempt([this] { tree_.tell_lost_times(); });
    attempt([this] { tree_.close_journal(false); });
}

namespace {

// The memory that a sender may use for directories that are not finished.
constexpr std::uint64_t kMaxDirectoryBytes = 128U << 20U;

}  // namespace

std::uint32_t MadeDirectories::mode_of(const message::Entry& entry) const noexcept {
    return mode_bits::of_directory(entry.mode, tree_.offer.set_id, tree_.offer.owner);
}

bool MadeDirectories::take_top(const message::Entry& entry) {
    const bool stays = tree_.options.keep_base && tree_.offer.destination.empty();
    if (!tree_.offer.preserve || stays) return false;
    top_ = Made{{}, mode_of(entry), entry.mtime};
    return true;
}

MadeDirectories::Stands MadeDirectories::make(const message::Entry& entry, const std::string& path) {
    SplitName split = split_leaf(path);
    std::uint32_t final_mode = mode_of(entry);
    Found found{final_mode};
    const auto made = tree_.lent.with(split.directory, [&]() -> Result<void> {
        auto [parent, error] = tree_.root.open_directory(split.directory);
        if (parent) error = make_or_open(parent.get(), split, entry, found);
        return error == 0 ? Result<void>() : io_error("cannot make directory", path, error);
    });
    if (!made) {
        if (made.error().system_error == EEXIST) {
            tree_.fail(entry.index, path, falls_together(path));
        } else if (tree_.stays(made.error().system_error)) {
            tree_.report.ended(Ended::skipped, entry.type, path, 0);
        } else {
            tree_.fail(entry.index, path, made.error());
        }
        return Stands::no;
    }
    // A directory that was opened up, perhaps by an earlier run, has the mode that it is to get back.
    const std::uint32_t before = tree_.lent.owed(path).value_or(found.mode);
    if (!tree_.offer.preserve) final_mode = before;
    const bool barred = (final_mode & mode_bits::kOwner) != mode_bits::kOwner;
    if (tree_.offer.preserve || barred) remember({path, final_mode, entry.mtime});
    if (found.existed && before == final_mode && (found.has_time || !tree_.offer.preserve)) {
        tree_.note_unchanged(EntryType::directory, path);
        return Stands::unchanged;
    }
    CommitOrder commit;
    commit.index = entry.index;
    commit.type = EntryType::directory;
    commit.directory = std::move(split.directory);
    commit.name = std::move(split.leaf);
    tree_.submit(std::move(commit));
    return Stands::made;
}

int MadeDirectories::make_or_open(int parent, const SplitName& split, const message::Entry& entry, Found& found) {
    // The owner needs all rights until the tree below is written. finish_all() takes the extra rights away.
    const std::uint32_t wanted = entry.mode & mode_bits::kPermissions;
    const std::string path = join_path(entry.path);
    const auto make = [&] {
        if (::mkdirat(parent, split.leaf.c_str(), static_cast<mode_t>(wanted | mode_bits::kOwner)) != 0) return errno;
        if ((wanted & mode_bits::kOwner) != mode_bits::kOwner) tree_.lent.owe(path, wanted);
        std::uint32_t masked = 0;
        const auto lend = [&](std::uint32_t mode) { tree_.lent.owe(path, mode); };
        if (umask_bars_owner_) static_cast<void>(open_up_directory(parent, split.leaf, masked, lend));
        tree_.claims.note_made_directory(parent, split.directory, split.leaf);
        return 0;
    };
    int error = make();
    if (error != EEXIST) return error;
    error = open_up_directory(parent, split.leaf, found.mode, [&](std::uint32_t mode) { tree_.lent.owe(path, mode); });
    if (error == 0) {
        struct stat st = {};
        found.existed = true;
        found.has_time = tree_.old.look(path, st) && tree_.old.has_time(st, entry.mtime);
        tree_.claims.take_directory(parent, split.directory, split.leaf);
    }
    if (!is_barrier(error)) return error;
    if (!tree_.claims.take(parent, split.directory, split.leaf)) return EEXIST;
    if (tree_.stays(error)) return error;
    // The old entry gets another name until the directory exists.
    const std::string aside = temp_name(tree_.unique_of_link(entry.index, path));
    const auto rename = [&](const std::string& from, const std::string& to) {
        return again([&] { return ::renameat(parent, from.c_str(), parent, to.c_str()); }) == 0 ? 0 : errno;
    };
    if (error = vacate(parent, aside); error != 0) return error;
    error = rename(split.leaf, aside);
    // A sandbox gives no new names to special files. They hold no data.
    struct stat st = {};
    const bool special = error == EACCES && ::fstatat(parent, split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                         !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode);
    if (special) error = ::unlinkat(parent, split.leaf.c_str(), 0) == 0 ? 0 : errno;
    if (error != 0) return error;
    found.mode = entry.mode;
    error = make();
    if (error != 0) {
        static_cast<void>(rename(aside, split.leaf));
    } else {
        ::unlinkat(parent, aside.c_str(), 0);
    }
    return error;
}

void MadeDirectories::remember(Made directory) {
    bytes_ += sizeof directory + directory.path.size();
    if (bytes_ <= kMaxDirectoryBytes) return made_.push_back(std::move(directory));
    bytes_ -= sizeof directory + directory.path.size();
    if (!tree_.offer.preserve) return;
    tree_.report.lacks(EntryType::directory, Belonging::mode, directory.path, ENOMEM);
    tree_.report.lacks(EntryType::directory, Belonging::time, directory.path, ENOMEM);
}

bool MadeDirectories::finish_next() {
    if (made_.empty()) return false;
    const Made directory = std::move(made_.back());
    made_.pop_back();
    finish(directory);
    tree_.lent.settled(directory.path);
    return true;
}

void MadeDirectories::finish_all() {
    tree_.old.close();
    // The directory that was made last is finished first. Setting a child's mode does not change its parent's time, but
    // a closed parent would block access to the child.
    while (finish_next()) {
    }
    // These were not sent, or an earlier run opened them up.
    tree_.lent.give_back([this](const std::string& path, int error_number) {
        tree_.report.lacks(EntryType::directory, Belonging::mode, path, error_number);
    });
}

void MadeDirectories::finish_top() {
    if (top_) finish(*top_);
}

void MadeDirectories::finish(const Made& directory) {
    const auto unset = [&](Belonging what, int error_number) {
        tree_.report.lacks(EntryType::directory, what, directory.path, error_number);
    };
    struct stat st = {};
    auto [fd, error] = tree_.root.open_directory(directory.path);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error != 0) return unset(Belonging::mode, error);
    // Without preserve, the umask has been applied already: only the owner's extra rights must go.
    const std::uint32_t wanted =
        tree_.offer.preserve ? directory.mode : st.st_mode & (directory.mode | ~mode_bits::kOwner) & mode_bits::kAll;
    if (error = set_mode(fd.get(), wanted); error != 0) unset(Belonging::mode, error);
    if (!tree_.offer.preserve || mtime_of(st) == directory.mtime) return;
    if (error = set_file_time(fd.get(), directory.mtime); error != 0) return unset(Belonging::time, error);
    // If the directory already had what the disk makes of its time, nothing was lost now.
    struct stat after = {};
    const bool changed = ::fstat(fd.get(), &after) == 0 && mtime_of(st) != mtime_of(after);
    if (changed) tree_.lost_times.look(after, directory.path, directory.mtime);
}

}  // namespace udtx::transfer

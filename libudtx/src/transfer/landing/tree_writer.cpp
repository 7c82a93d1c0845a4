#include "transfer/landing/tree_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

TreeWriter::TreeWriter(ConfinedDir root, TreeWriterOptions options, Report& report)
    : tree_(std::move(root), options, report),
      holdings_(tree_),
      files_(tree_, holdings_),
      directories_(tree_),
      links_(tree_),
      root_digest_(options.hash) {}

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
    int error = 0;
    const UniqueFd parent = tree_.root.open_directory(split.directory, error);
    if (tree_.stays(error)) return tree_.report.ended(Ended::skipped, entry.type, path, 0);
    if (!parent) return tree_.fail(entry.index, path, io_error("cannot make link", path, error));
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
    error = tree_.options.preserve ? set_link_time(parent.get(), temporary, entry.mtime) : 0;
    if (error != 0) {
        tree_.report.lacks(EntryType::symlink, Belonging::time, path, error);
    } else if (tree_.options.preserve && ::fstatat(parent.get(), temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
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
    int error = 0;
    struct stat st = {};
    const UniqueFd fd =
        tree_.root.open_at(path, type == EntryType::directory ? O_RDONLY | O_DIRECTORY : O_RDONLY, 0, error);
    if (fd && ::fstat(fd.get(), &st) != 0) error = errno;
    Change change;
    if (tree_.options.owner && meta.has_owner) change.owner = Owner{meta.user, meta.group};
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
            ending_ = Ending::shared;
            break;
        case Ending::shared:
            if (tree_.shared.go_on()) break;
            tree_.flush();
            ending_ = Ending::links;
            break;
        case Ending::links:
            if (!links_.go_on()) ending_ = Ending::durable;
            break;
        case Ending::durable:
            tree_.flush();
            ending_ = Ending::rest;
            // In an empty destination, everything has arrived in this run.
            if (tree_.eraser && all_well() && tree_.options.occupied) {
                ending_ = Ending::erasing;
                if (auto begun = tree_.eraser->begin(); !begun) tree_.fail(kNoEntry, ".", begun.error());
            }
            break;
        case Ending::erasing:
            if (!tree_.eraser->go_on()) ending_ = Ending::rest;
            break;
        case Ending::rest: {
            tree_.basis.close();
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

}  // namespace udtx::transfer

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/state_access.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/tree_writer.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kTailBytes = 64U << 10U;
constexpr std::size_t kNodeBytes = 32;  // overhead of the container and of two strings on the heap

/// What a record begins with. Only this process reads it.
struct Head {
    std::uint64_t index = 0;
    std::uint32_t path = 0;
    std::uint32_t target = 0;
};

std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::size_t WaitingLinks::bytes_of(const WaitingLink& link) noexcept {
    return sizeof link + kNodeBytes + link.path.size() + link.target.size();
}

void WaitingLinks::keep(WaitingLink link) {
    bytes_ += bytes_of(link);
    in_memory_.push_back(std::move(link));
}

Result<void> WaitingLinks::push(WaitingLink link) {
    if (written_ == read_ && tail_.empty() && bytes_ + bytes_of(link) <= most_) {
        keep(std::move(link));
        return {};
    }
    const Head head{link.index, static_cast<std::uint32_t>(link.path.size()),
                    static_cast<std::uint32_t>(link.target.size())};
    const std::size_t before = tail_.size();
    tail_.append(reinterpret_cast<const char*>(&head), sizeof head);
    tail_ += link.path;
    tail_ += link.target;
    if (tail_.size() < kTailBytes) return {};
    const int error = write_tail();
    if (error == 0) return {};
    tail_.resize(before);
    return io_error("cannot write the hard links that wait, among them", link.path, error);
}

Result<WaitingLink> WaitingLinks::pop() {
    if (in_memory_.empty()) {
        if (const int error = read_some(); error != 0) {
            tail_.clear();
            close();
            return io_error("cannot read the hard links that wait in", ".", error);
        }
    }
    WaitingLink link = std::move(in_memory_.front());
    in_memory_.pop_front();
    bytes_ -= bytes_of(link);
    return link;
}

int WaitingLinks::open() {
    constexpr int kFlags = O_RDWR | O_CLOEXEC;
#ifdef O_TMPFILE
    file_.reset(open_entry(root_.fd(), ".", kFlags | O_TMPFILE, 0600));
    if (file_) return 0;
#endif
    const std::string name = temp_name(random_number());
    file_.reset(open_entry(root_.fd(), name.c_str(), kFlags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (!file_) return errno;
    return ::unlinkat(root_.fd(), name.c_str(), 0) == 0 ? 0 : errno;
}

int WaitingLinks::find_room(std::uint64_t bytes) {
    struct stat st = {};
    if (limits_.quota && ::fstat(file_.get(), &st) == 0) {
        if (!charge_) charge_ = std::make_unique<DiskQuota::Charge>(StateAccess::of(*limits_.quota), st, false);
        if (!charge_->grow(bytes)) return EDQUOT;
    }
    struct statvfs system = {};
    if (limits_.min_free == 0 || ::fstatvfs(file_.get(), &system) != 0) return 0;
    return system.f_bavail * system.f_frsize < limits_.min_free ? ENOSPC : 0;
}

void WaitingLinks::close() {
    if (charge_) charge_->settle(0);
    charge_.reset();
    file_.reset();
    read_ = written_ = 0;
}

int WaitingLinks::write_tail() {
    if (!file_) {
        if (const int error = open(); error != 0) return error;
    }
    if (const int error = find_room(written_ + tail_.size()); error != 0) return error;
    if (const int error = write_all_at(file_.get(), bytes_in(tail_), written_); error != 0) return error;
    written_ += tail_.size();
    tail_.clear();
    return 0;
}

int WaitingLinks::read_some() {
    // What is not in the file yet is read from memory, so the end of a transfer needs no space on the disk.
    std::string block;
    const std::uint64_t left = written_ - read_;
    if (left == 0) {
        block = std::exchange(tail_, {});
    } else {
        block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(most_, kTailBytes))));
        std::size_t count = 0;
        const auto room = std::as_writable_bytes(std::span(block));
        if (const int error = read_all_at(file_.get(), room, read_, count); error != 0) return error;
        if (count < block.size()) return EIO;
    }
    std::size_t at = 0;
    while (block.size() - at >= sizeof(Head)) {
        Head head;
        std::memcpy(&head, block.data() + at, sizeof head);
        const std::size_t end = at + sizeof head + head.path + head.target;
        if (end > block.size()) break;
        keep({head.index, block.substr(at + sizeof head, head.path),
              block.substr(at + sizeof head + head.path, head.target)});
        at = end;
    }
    if (in_memory_.empty()) return EIO;
    if (left > 0) read_ += at;
    if (read_ == written_) close();
    return 0;
}

void HardLinks::add(const message::Entry& entry, const std::string& path) {
    if (auto checked = check_path(split_path(entry.target)); !checked)
        return tree_.fail(entry.index, path, checked.error());
    WaitingLink link{entry.index, path, entry.target};
    if (auto waits = waiting_.push(std::move(link)); !waits) tree_.fail(entry.index, path, waits.error());
}

bool HardLinks::go_on() {
    if (copying_) {
        copy_more();
    } else if (!waiting_.empty()) {
        if (const auto link = waiting_.pop()) {
            make(*link);
        } else {
            tree_.fail(kNoEntry, ".", link.error());
        }
    }
    return copying_ || !waiting_.empty();
}

void HardLinks::give_up() {
    while (!waiting_.empty()) {
        const auto link = waiting_.pop();
        if (!link) continue;
        if (is_same_file(tree_.root, link->path, join_path(split_path(link->target)))) {
            tree_.note_unchanged(EntryType::hard_link, link->path);
        } else if (tree_.old.must_stay(link->path)) {
            tree_.report.ended(Ended::skipped, EntryType::hard_link, link->path, 0);
        }
    }
}

void HardLinks::drop_copy() {
    if (copying_) copying_->file.remove(tree_.root);
    copying_.reset();
}

void HardLinks::make(const WaitingLink& link) {
    const std::string& path = link.path;
    SplitName split = split_leaf(path);
    const SplitName other = split_leaf(join_path(split_path(link.target)));
    if (is_same_file(tree_.root, path, join_path(split_path(link.target))))
        return tree_.note_unchanged(EntryType::hard_link, path);
    if (tree_.old.must_stay(path)) return tree_.report.ended(Ended::skipped, EntryType::hard_link, path, 0);
    OpenedFd opened = tree_.root.open_directory(split.directory);
    const UniqueFd parent = std::move(opened.fd);
    if (parent) opened = tree_.root.open_directory(other.directory);
    const UniqueFd other_parent = std::move(opened.fd);
    if (!other_parent) return tree_.fail(link.index, path, io_error("cannot make link", path, opened.error));
    struct stat st = {};
    const bool file = ::fstatat(other_parent.get(), other.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!file || !S_ISREG(st.st_mode)) {
        return tree_.fail(link.index, path, io_error("cannot make link", path, file ? EPERM : ENOENT));
    }
    const FileId is = FileId::of(st);
    if (!tree_.own_files.has(path_in(other.directory, other.leaf), is)) {
        return tree_.fail(
            link.index, path,
            {ErrorCode::file_io, "cannot make link '" + escape_name(path) + "': '" + escape_name(link.target) +
                                     "', a hard link to the same file, did not arrive"});
    }
    std::string temporary = temp_name(tree_.unique_of_link(link.index, path));
    const auto linked = tree_.lent.with(split.directory, [&] {
        return tree_.make_link(path, parent.get(), temporary, [&] {
            return ::linkat(other_parent.get(), other.leaf.c_str(), parent.get(), temporary.c_str(), 0);
        });
    });
    if (!linked) return begin_copy(link, st, linked.error().system_error);
    CommitOrder commit;
    commit.index = link.index;
    commit.type = EntryType::hard_link;
    commit.is = is;
    commit.directory = std::move(split.directory);
    commit.temporary = std::move(temporary);
    commit.name = std::move(split.leaf);
    tree_.submit_link(std::move(commit), parent.get());
}

void HardLinks::begin_copy(const WaitingLink& link, const struct stat& of, int error_number) {
    const std::string& path = link.path;
    const auto size = static_cast<std::uint64_t>(of.st_size);
    if (tree_.old.is_same(path, size, mtime_of(of))) {
        tree_.report.lacks(EntryType::file, Belonging::hard_link, path, error_number);
        return tree_.note_unchanged(EntryType::hard_link, path);
    }
    FileAttributes attributes;
    attributes.mode = of.st_mode & mode_bits::kAll;
    attributes.exact_mode = true;
    attributes.set_mtime = true;
    attributes.mtime = mtime_of(of);
    if (tree_.offer.owner) attributes.owner = Owner{of.st_uid, of.st_gid};
    auto [from, error] = tree_.root.open_at(join_path(split_path(link.target)), O_RDONLY);
    if (!from) return tree_.fail(link.index, path, io_error("cannot read for a hard link", path, error));
    const ModeWithoutList limited = mode_without_list(from.get(), attributes.mode);
    attributes.mode = limited.mode;
    if (limited.error_number != 0) tree_.report.lacks(EntryType::file, Belonging::mode, path, limited.error_number);
    const std::uint64_t unique = tree_.unique_of_link(link.index, path);
    auto file = tree_.create_temporary(path, unique, attributes);
    if (!file) return tree_.fail(link.index, path, file.error());
    if (const auto room = tree_.find_room(*file, size); !room) {
        file->remove(tree_.root);
        return tree_.fail(link.index, path, room.error());
    }
    copying_.emplace(Copy{.index = link.index,
                          .path = path,
                          .attributes = attributes,
                          .size = size,
                          .error_number = error_number,
                          .from = std::move(from),
                          .file = std::move(file).value()});
}

void HardLinks::copy_more() {
    Copy& copy = *copying_;
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
    if (failed != 0) tree_.report.lacks(EntryType::file, Belonging::attributes, copy.path, failed);
    if (done) done = copy.file.complete(copy.size, copy.attributes, tree_.unset_of(copy.path));
    Copy over = std::move(*copying_);
    copying_.reset();
    Result<bool> way =
        done ? tree_.make_way(over.path, [&] { return over.file.try_commit(tree_.root); }) : done.error();
    if (!way) {
        over.file.remove(tree_.root);
        return tree_.fail(over.index, over.path, way.error());
    }
    tree_.report.lacks(EntryType::file, Belonging::hard_link, over.path, over.error_number);
    CommitOrder commit = over.file.into_commit(over.index, over.size, true);
    tree_.submit(std::move(commit), *way);
}

}  // namespace udtx::transfer

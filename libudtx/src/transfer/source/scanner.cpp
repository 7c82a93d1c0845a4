#include "transfer/source/scanner.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "transfer/file/belongings.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "udtx/transfer/shard.hpp"

namespace udtx::transfer {

namespace {

/// True if sources may have names in common: only the contents of one are sent, or two have the same name.
bool may_meet(const std::vector<SourceRoot>& roots) {
    std::set<std::string_view> leaves;
    const auto meets = [&](const SourceRoot& root) { return root.leaf.empty() || !leaves.insert(root.leaf).second; };
    return roots.size() > 1 && std::any_of(roots.begin(), roots.end(), meets);
}

/// True if one source may be in another. Then a name can be met again when all names of its file were met.
bool may_overlap(const std::vector<SourceRoot>& roots) {
    if (roots.size() < 2) return false;
    std::set<std::string> places;
    for (const SourceRoot& root : roots) {
        std::array<char, PATH_MAX> place{};
        const std::string link = "/proc/self/fd/" + std::to_string(root.directory.fd());
        const ssize_t length = ::readlink(link.c_str(), place.data(), place.size() - 1);
        if (length <= 0) return true;
        std::string whole = place.data();
        if (whole != "/") whole += '/';
        if (!root.leaf.empty()) whole += root.leaf + '/';
        if (!places.insert(whole).second) return true;
    }
    // In this order a directory comes directly before what is in it.
    const auto holds = [](const std::string& one, const std::string& next) { return next.starts_with(one); };
    return std::ranges::adjacent_find(places, holds) != places.end();
}

/// Tells names apart, by whatever path the directory is reached.
std::optional<std::uint64_t> key_of_name(int directory, const std::string& name) {
    struct stat st = {};
    if (::fstat(directory, &st) != 0) return std::nullopt;
    return key_of({static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino), path_key(name)});
}

}  // namespace

std::uint64_t expected_data_bytes(const struct stat& st) noexcept {
    return std::min(static_cast<std::uint64_t>(st.st_size), static_cast<std::uint64_t>(st.st_blocks) * 512);
}

bool leads_out(std::string_view path, std::string_view target) {
    if (target.empty() || target.front() == '/') return true;
    auto depth = static_cast<std::ptrdiff_t>(split_path(path).size()) - 1;
    bool down = false;
    for (const std::string& part : split_path(target)) {
        if (part == "..") {
            // After a component that may itself be a link, ".." may lead anywhere.
            if (down || --depth < 0) return true;
        } else if (part != ".") {
            down = true;
        }
    }
    return false;
}

Scanner::Scanner(const std::vector<SourceRoot>& roots, ScanQueue& queue, JobReport& report, const Selection& what,
                 Unfinished unfinished)
    : roots_(roots),
      queue_(queue),
      report_(report),
      what_(what),
      of_unfinished_(unfinished),
      may_meet_(what_.names || may_meet(roots)),
      overlap_(what_.hard_links && may_overlap(roots)) {}

std::vector<Scanner::Asked> Scanner::names_in_order() {
    std::vector<Asked> out;
    out.reserve(what_.names->size());
    for (const std::string& name : *what_.names) {
        std::vector<std::string> components = split_path(name);
        std::erase(components, ".");
        const bool contents = components.empty() || name.ends_with('/') || name.ends_with("/.");
        out.push_back({join_path(components), contents ? Into::entries : Into::nothing});
        if (what_.into_named) out.back().into = Into::all;
    }
    // Sorted, so that a directory precedes its contents, whatever the order of the list. If a name is listed twice, the
    // line that asks for more is first.
    std::sort(out.begin(), out.end(),
              [](const Asked& a, const Asked& b) { return std::tie(a.path, b.into) < std::tie(b.path, a.into); });
    const auto same = [](const Asked& a, const Asked& b) { return a.path == b.path; };
    out.erase(std::unique(out.begin(), out.end(), same), out.end());
    return out;
}

DiskStep Scanner::step() {
    const DiskSlice slice;
    while (!stopped_) {
        if (queue_.full()) return DiskStep::rest();
        if (slice.over()) return DiskStep::again();
        if (!levels_.empty()) {
            walk_on();
        } else if (!begin_next()) {
            break;
        }
        stopped_ = stopped_ || queue_.closed();
    }
    levels_.clear();
    if (again_.count > 0) {
        report_.warn(counted(again_.count, "name is", "names are") +
                     " in several sources; udtx sent the entry of the first source: '" + escape_name(again_.first) +
                     "'" + (again_.count == 1 ? "" : " and others"));
    }
    if (doubtful_.count > 0) {
        report_.warn(counted(doubtful_.count, "name is", "names are") +
                     " sent as a file of its own, because the file system cannot prove the hard link, first '" +
                     escape_name(doubtful_.first) + "'");
    }
    if (unfinished_ > 0 && of_unfinished_ == Unfinished::warn) {
        report_.warn("skipped temporary files of running or stopped transfers: " +
                     counted(unfinished_, "entry", "entries") + " (see udtx-recv clean)");
    }
    if (!stopped_) check_content();
    report_.edit([](Progress& progress, Outcome&) { progress.totals_final = true; });
    queue_.close();
    return DiskStep::over();
}

bool Scanner::begin_next() {
    if (next_asked_ < asked_.size()) {
        begin_name(asked_[next_asked_++]);
        return true;
    }
    if (next_root_ == roots_.size()) return false;
    root_ = next_root_++;
    if (what_.names) {
        asked_ = names_in_order();
        next_asked_ = 0;
        everything_ = false;
    } else if (const SourceRoot& source = roots_[root_]; source.leaf.empty()) {
        descend(source.directory.fd(), ".", "", Into::all);
    } else {
        visit(root_, source.directory.fd(), source.leaf, source.leaf, Into::all);
    }
    return true;
}

void Scanner::walk_on() {
    Level& top = levels_.back();
    errno = 0;
    const dirent* found = ::readdir(top.directory.get());
    if (found == nullptr) {
        if (errno != 0) fail(top.path, errno);
        return levels_.pop_back();
    }
    const std::string name = found->d_name;
    if (name == "." || name == "..") return;
    visit(root_, ::dirfd(top.directory.get()), name, path_in(top.path, name), top.below);
}

void Scanner::begin_name(const Asked& asked) {
    const auto& [path, into] = asked;
    if (what_.part && !what_.part->meets(path)) return;
    if (path.empty()) {
        everything_ = into == Into::all;
        return descend(roots_[root_].directory.fd(), ".", "", into);
    }
    const SplitName split = split_leaf(path);
    struct stat st = {};
    auto [parent, error] = roots_[root_].directory.open_directory(split.directory);
    const bool found = parent && ::fstatat(parent.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    // The directories that lead to an excluded name are not sent either, as in rsync.
    if (found && what_.rules.excludes(path, S_ISDIR(st.st_mode))) return leave_out(path);
    if (!visit_parents(root_, split_path(path))) return;
    if (!parent) return fail(path, error);
    visit(root_, parent.get(), split.leaf, path, everything_ ? Into::nothing : into);
}

bool Scanner::visit_parents(std::size_t root, const std::vector<std::string>& components) {
    std::string path;
    for (std::size_t i = 0; i + 1 < components.size(); ++i) {
        const std::string directory = path;
        path = path_in(path, components[i]);
        const auto [known, added] = parents_.try_emplace(path, false);
        if (added) {
            auto [fd, error] = roots_[root].directory.open_directory(directory);
            if (fd) {
                visit(root, fd.get(), components[i], path, Into::way);
            } else {
                fail(path, error);
            }
            known->second = static_cast<bool>(fd);
        }
        if (!known->second) return false;
    }
    return true;
}

void Scanner::visit(std::size_t root, int directory, const std::string& name, const std::string& path, Into into) {
    if (is_transfer_file(name)) {
        ++unfinished_;
        return;
    }
    if (what_.part && !what_.part->meets(path)) return;
    struct stat st = {};
    if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return fail(path, errno);
    if (into != Into::way && what_.rules.excludes(path, S_ISDIR(st.st_mode))) return leave_out(path);
    if (auto checked = check_path(split_path(path)); !checked) {
        fail(path, checked.error());
        // The entries below are refused for the same reason, and each counts.
        if (S_ISDIR(st.st_mode)) descend(directory, name, path, into);
        return;
    }
    ScannedEntry entry;
    entry.root = root;
    entry.path = path;
    entry.mode = static_cast<std::uint32_t>(st.st_mode) & 07777U;
    if (S_ISDIR(st.st_mode) || (what_.preserve && S_ISREG(st.st_mode))) {
        const ModeWithoutList limited = mode_without_list(directory, name, entry.mode);
        entry.mode = limited.mode;
        entry.mode_error = limited.error_number;
    }
    entry.mtime = mtime_of(st);
    entry.user = st.st_uid;
    entry.group = st.st_gid;
    if (S_ISDIR(st.st_mode)) {
        const TakenNames::Holder holder = holder_of(path, true);
        if (holder == TakenNames::Holder::other) {
            // None of its contents are sent.
            return fail(path,
                        {ErrorCode::refused,
                         "'" + escape_name(path) + "' is a directory here and a file or link in an earlier source"});
        }
        entry.type = EntryType::directory;
        if (holder == TakenNames::Holder::none) add(std::move(entry));
        descend(directory, name, path, into);
    } else if (S_ISREG(st.st_mode)) {
        visit_file(directory, name, st, std::move(entry));
    } else if (S_ISLNK(st.st_mode)) {
        visit_symlink(directory, name, std::move(entry));
    } else if (!came_before(path)) {
        if (!in_part(path)) return;
        leave_out(path);
        report_.warn("skipped " + std::string(special_kind(st.st_mode)) + " '" + escape_name(path) + "'");
    }
}

bool Scanner::in_part(const std::string& path) const { return !what_.part || what_.part->contains(path); }

TakenNames::Holder Scanner::holder_of(const std::string& path, bool directory) {
    return may_meet_ ? taken_.take(path, directory) : TakenNames::Holder::none;
}

bool Scanner::came_before(const std::string& path) {
    if (holder_of(path, false) == TakenNames::Holder::none) return false;
    // A list may name a file twice; that needs no warning.
    if (!what_.names) again_.add(path);
    return true;
}

void Scanner::leave_out(const std::string& path) {
    if (!what_.erase || !check_path(split_path(path))) return;
    ScannedEntry entry;
    entry.path = path;
    entry.unsent = true;
    const std::size_t cost = sizeof(ScannedEntry) + path.size();
    if (!queue_.push(std::move(entry), cost)) stopped_ = true;
}

void Scanner::visit_file(int directory, const std::string& name, const struct stat& st, ScannedEntry entry) {
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (came_before(entry.path)) return;
    if (size > kMaxNumber) return fail(entry.path, too_large(entry.path, size));
    if (!choose_bytes(what_, size, entry)) return;
    entry.size = size;
    // A file of which only a part is sent is not linked, since the cuts of its names differ.
    if (what_.hard_links && st.st_nlink > 1 && !entry.part) find_first_name(directory, name, st, entry);
    if (entry.type == EntryType::hard_link) return add(std::move(entry));
    entry.data_bytes = std::min(expected_data_bytes(st), entry.bytes());
    add(std::move(entry));
}

void Scanner::find_first_name(int directory, const std::string& name, const struct stat& st, ScannedEntry& entry) {
    std::string handle = handle_of(directory, name);
    const bool proven = !handle.empty();
    const Linked file{st.st_dev,          st.st_ino,         st.st_size,         st.st_mtim.tv_sec,
                      st.st_mtim.tv_nsec, st.st_ctim.tv_sec, st.st_ctim.tv_nsec, std::move(handle)};
    entry.linked = true;
    const auto [first, added] = linked_.try_emplace(file, FirstName{entry.root, entry.path});
    if (const auto key = key_of_name(directory, name)) first->second.met.insert(*key);
    const bool last = !overlap_ && first->second.met.size() >= st.st_nlink;
    choose_link(first->second, added, proven, entry);
    if (last) linked_.erase(first);
}

void Scanner::choose_link(const FirstName& first, bool added, bool proven, ScannedEntry& entry) {
    if (added) return;
    if (!proven && entry.size > kMaxCompared) return doubtful_.add(entry.path);
    if (!proven && !has_content_of(first, entry)) return;
    entry.type = EntryType::hard_link;
    entry.target = first.path;
}

bool Scanner::has_content_of(const FirstName& first, const ScannedEntry& entry) const {
    const UniqueFd one = roots_[first.root].directory.open_at(first.path, O_RDONLY).fd;
    const UniqueFd other = roots_[entry.root].directory.open_at(entry.path, O_RDONLY).fd;
    return one && other && same_bytes(one.get(), other.get(), entry.size);
}

bool choose_bytes(const Selection& what, std::uint64_t size, ScannedEntry& entry) {
    if (!what.part) return true;
    const auto bytes = what.part->bytes_of(entry.path, size);
    if (!bytes) return false;
    // Only a job joins the parts of a file. Without one, the part that holds its start sends the whole file.
    entry.part.reset();
    if (what.shard && bytes->length < size) entry.part = *bytes;
    return what.shard || bytes->offset == 0;
}

void Scanner::visit_symlink(int directory, const std::string& name, ScannedEntry entry) {
    if (came_before(entry.path) || !in_part(entry.path)) return;
    if (what_.links == LinkChoice::skip) {
        leave_out(entry.path);
        return report_.warn("skipped link '" + escape_name(entry.path) + "'");
    }
    std::array<char, kMaxPathBytes + 1> target{};
    const ssize_t n = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (n < 0) return fail(entry.path, unreadable(directory, name, entry.path, S_IFLNK, errno));
    if (static_cast<std::size_t>(n) > kMaxPathBytes) return fail(entry.path, ENAMETOOLONG);
    entry.type = EntryType::symlink;
    entry.target.assign(target.data(), static_cast<std::size_t>(n));
    if (what_.links == LinkChoice::safe && leads_out(entry.path, entry.target)) {
        leave_out(entry.path);
        return report_.warn("skipped link '" + escape_name(entry.path) + "': it leads out of the tree, to '" +
                            escape_name(entry.target) + "'");
    }
    add(std::move(entry));
}

void Scanner::descend(int directory, const std::string& name, const std::string& path, Into into) {
    if (into == Into::nothing || into == Into::way) return;
    UniqueFd fd(open_entry(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return fail(path, unreadable(directory, name, path, S_IFDIR, errno));
    DIR* opened = ::fdopendir(fd.get());
    if (opened == nullptr) return fail(path, errno);
    static_cast<void>(fd.release());
    levels_.push_back({std::unique_ptr<DIR, CloseDir>(opened), path, into == Into::all ? Into::all : Into::nothing});
}

// Whatever decides which entries are found, other than the part, counts here.
std::uint64_t selection_number(const Selection& what) {
    std::string all = std::to_string(static_cast<int>(what.links));
    for (const FilterRule& rule : what.rules.list()) all += '\0' + std::string(rule.include ? "+" : "-") + rule.pattern;
    if (what.names) {
        all += std::string("\0names", 6) + (what.into_named ? "r" : "");
        for (const std::string& name : *what.names) all += '\0' + name;
    }
    return std::max<std::uint64_t>(path_key(all), 1);
}

void count_in(ShardContent& content, const std::string& path, std::uint64_t bytes) {
    ++content.entries;
    content.bytes += bytes;
    content.names += path_key(path);
}

bool counts(const Selection& what, const PathRange& part, EntryType type, const std::string& path) {
    return type != EntryType::directory || (!what.names && part.contains(path));
}

void Scanner::check_content() {
    if (!what_.shard || !what_.shard->content) return;
    const ShardContent& planned = *what_.shard->content;
    // An entry that cannot be read explains the difference.
    if (content_ == planned || report_.unannounced() > 0) return;
    const auto text_of = [](const ShardContent& content) {
        return counted(content.entries, "entry", "entries") + " with " + std::to_string(content.bytes) + " bytes";
    };
    const bool renamed = content_.entries == planned.entries && content_.bytes == planned.bytes;
    fail(".",
         {ErrorCode::partial,
          "the plan has " + text_of(planned) + " for this shard, but the sources have " +
              (renamed ? std::string("as many under other names") : text_of(content_)) +
              ": mount what is missing and repeat the command, or make a new plan and run all shards as a new job"});
}

void Scanner::add(ScannedEntry entry) {
    if (what_.part && counts(what_, *what_.part, entry.type, entry.path)) {
        count_in(content_, entry.path, entry.bytes());
    }
    const bool file = entry.type == EntryType::file || entry.type == EntryType::hard_link;
    if (!file) ++others_;
    report_.edit([&](Progress& progress, Outcome&) {
        if (file) ++progress.files_total;
        add_up(progress.bytes_total, entry.data_bytes);
    });
    const std::size_t cost = sizeof(ScannedEntry) + entry.path.size() + entry.target.size();
    if (!queue_.push(std::move(entry), cost)) stopped_ = true;
}

}  // namespace udtx::transfer

#include "transfer/file/quirks/disk_quota.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transfer/file/file_io.hpp"
#include "transfer/file/quirks/lent_rights.hpp"

namespace udtx::transfer {

namespace {

/// How long "no room" is believed. Space that is freed meanwhile is found after that.
constexpr auto kBelieved = std::chrono::seconds(2);
/// Names that are counted between two looks at the clock.
constexpr std::size_t kNamesAtOnce = 64;

std::uint64_t bytes_of(const struct stat& st) { return static_cast<std::uint64_t>(st.st_blocks) * 512; }

/// True if another program has removed or replaced the entry meanwhile.
bool is_gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

}  // namespace

DiskQuota::Look::Look(std::shared_ptr<DiskQuota> quota, std::uint64_t wanted)
    : quota_(std::move(quota)), wanted_(wanted) {
    const Lock lock(quota_->mutex_);
    asked_ = quota_->begun_;
}

DiskQuota::Look::~Look() {
    if (!walk_) return;
    const Lock lock(quota_->mutex_);
    quota_->end_walk(std::nullopt);
}

Result<bool> DiskQuota::Look::go_on(const ConfinedDir& top, const DiskSlice& slice) {
    if (!walk_) {
        const auto over = begin(top);
        if (!over || *over || !walk_) return over;
    }
    auto over = walk(slice);
    if (!over || *over) end(static_cast<bool>(over));
    return over;
}

Result<bool> DiskQuota::Look::begin(const ConfinedDir& top) {
    auto own = top.subdirectory("");
    if (!own) return own.error();
    const Lock lock(quota_->mutex_);
    if (quota_->finished_ > asked_) {  // a walk that began after the question
        quota_->note_room(wanted_);
        return true;
    }
    if (quota_->walking_) return false;
    walk_.emplace(Walk{std::move(own).value(), quota_->begun_ + 1});
    walk_->directories.emplace_back();
    ++quota_->begun_;
    quota_->walking_ = true;
    return false;
}

void DiskQuota::Look::end(bool whole) {
    const Lock lock(quota_->mutex_);
    if (whole) quota_->finished_ = walk_->number;
    quota_->end_walk(whole ? std::optional(walk_->found) : std::nullopt);
    quota_->note_room(wanted_);
    walk_.reset();
}

Result<bool> DiskQuota::Look::walk(const DiskSlice& slice) {
    do {
        if (walk_->found > quota_->limit_) return true;
        if (!walk_->names.empty()) {
            count_some();
            continue;
        }
        if (walk_->directories.empty()) return true;
        walk_->directory = std::move(walk_->directories.back());
        walk_->directories.pop_back();
        auto entered = enter();
        if (!entered && entered.error().system_error == EACCES) entered = look_into_barred();
        if (!entered && !is_gone(entered.error().system_error)) return entered.error();
    } while (!slice.over());
    return false;
}

Result<void> DiskQuota::Look::enter() {
    auto [fd, error] = walk_->top.open_at(walk_->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    walk_->fd = std::move(fd);
    struct stat st = {};
    // Reading a directory and looking up its entries are two different rights.
    if (walk_->fd && ::fstatat(walk_->fd.get(), ".", &st, 0) != 0) error = errno;
    if (error == 0) walk_->names = names_in(walk_->fd.get(), error);
    return error == 0 ? Result<void>() : io_error("quota: cannot measure", walk_->directory, error);
}

Result<void> DiskQuota::Look::look_into_barred() {
    struct Lent : LentRights {
        using LentRights::LentRights;
        ~Lent() {
            give_back([](const std::string&, int) {});
        }
    } lent(walk_->top, nullptr);
    const std::string& path = walk_->directory;
    static_cast<void>(lent.lend(""));
    for (std::size_t end = 0; end != std::string::npos;) {
        end = path.find('/', end + 1);
        static_cast<void>(lent.lend(path.substr(0, end)));
    }
    auto entered = lent.with(path, [this] { return enter(); });
    // Count everything in this turn: another transfer that works here may restore the rights between two turns.
    while (entered && !walk_->names.empty()) count_some();
    return entered;
}

void DiskQuota::Look::count_some() {
    for (std::size_t left = kNamesAtOnce; left > 0 && !walk_->names.empty(); --left) {
        const std::string name = std::move(walk_->names.back());
        walk_->names.pop_back();
        struct stat st = {};
        if (::fstatat(walk_->fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) count(name, st);
    }
}

void DiskQuota::Look::count(const std::string& name, const struct stat& st) {
    const FileId id{st.st_dev, st.st_ino};
    const bool directory = S_ISDIR(st.st_mode);
    if (directory || st.st_nlink == 1 || walk_->linked.insert(id).second) {
        const Lock lock(quota_->mutex_);
        if (quota_->files_.count(id) == 0) walk_->found += bytes_of(st);
    }
    if (!directory) return;
    // Directories that other users close, such as lost+found, contain nothing that came through us.
    const bool shut =
        st.st_uid != ::geteuid() && ::faccessat(walk_->fd.get(), name.c_str(), R_OK | X_OK, AT_EACCESS) != 0;
    if (!shut) walk_->directories.push_back(walk_->directory.empty() ? name : walk_->directory + '/' + name);
}

void DiskQuota::end_walk(std::optional<std::uint64_t> found) {
    walking_ = false;
    if (found) {
        whole_ = *found <= limit_;
        on_disk_ = *found;
    }
    for (auto at = files_.begin(); at != files_.end();) {
        if (!at->second.over) {
            ++at;
            continue;
        }
        on_disk_ += at->second.bytes;
        under_way_ -= at->second.bytes;
        at = files_.erase(at);
    }
}

bool DiskQuota::fits(std::uint64_t bytes) const {
    return whole_ && on_disk_ <= limit_ && under_way_ <= limit_ - on_disk_ && bytes <= limit_ - on_disk_ - under_way_;
}

void DiskQuota::note_room(std::uint64_t bytes) {
    full_for_ = bytes;
    full_until_ = fits(bytes) ? Time() : std::chrono::steady_clock::now() + kBelieved;
}

bool DiskQuota::is_known(std::uint64_t bytes) {
    const Lock lock(mutex_);
    return fits(bytes) || (bytes >= full_for_ && std::chrono::steady_clock::now() < full_until_);
}

DiskQuota::Charge::Charge(std::shared_ptr<DiskQuota> quota, const struct stat& file, bool counted, bool shared)
    : quota_(std::move(quota)) {
    const Lock lock(quota_->mutex_);
    const auto [begin, end] = quota_->files_.equal_range({file.st_dev, file.st_ino});
    entry_ = std::find_if(begin, end, [](const auto& at) { return at.second.shards > 0; });
    if (shared && entry_ != end) {
        ++entry_->second.shards;
        return;
    }
    entry_ = quota_->files_.insert({{file.st_dev, file.st_ino}, {bytes_of(file), shared ? 1U : 0U, false}});
    quota_->under_way_ += bytes_of(file);
    // Nothing can be subtracted from an incomplete sum.
    if (counted && quota_->whole_) quota_->on_disk_ -= std::min(quota_->on_disk_, bytes_of(file));
}

DiskQuota::Charge::~Charge() {
    const Lock lock(quota_->mutex_);
    if (entry_->second.shards > 0 && --entry_->second.shards > 0) return;
    entry_->second.over = true;
    if (quota_->walking_) return;
    quota_->on_disk_ += entry_->second.bytes;
    quota_->under_way_ -= entry_->second.bytes;
    quota_->files_.erase(entry_);
}

bool DiskQuota::Charge::grow(std::uint64_t bytes) {
    const Lock lock(quota_->mutex_);
    UnderWay& own = entry_->second;
    if (bytes <= own.bytes) return true;
    if (!quota_->fits(bytes - own.bytes)) return false;
    quota_->under_way_ += bytes - own.bytes;
    own.bytes = bytes;
    return true;
}

void DiskQuota::Charge::settle(std::uint64_t bytes) {
    const Lock lock(quota_->mutex_);
    if (entry_->second.shards > 1) return;
    quota_->under_way_ = quota_->under_way_ - entry_->second.bytes + bytes;
    entry_->second.bytes = bytes;
}

}  // namespace udtx::transfer

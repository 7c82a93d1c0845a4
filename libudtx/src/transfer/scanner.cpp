#include "transfer/scanner.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "transfer/file_io.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

std::string child(const std::string& path, const std::string& name) { return path.empty() ? name : path + '/' + name; }

}  // namespace

std::int64_t mtime_of(const struct stat& st) noexcept {
    return static_cast<std::int64_t>(st.st_mtim.tv_sec) * 1'000'000'000 + st.st_mtim.tv_nsec;
}

bool may_have_holes(const struct stat& st) noexcept {
    return static_cast<std::uint64_t>(st.st_blocks) * 512 < static_cast<std::uint64_t>(st.st_size);
}

std::uint64_t expected_data_bytes(const struct stat& st) noexcept {
    return std::min(static_cast<std::uint64_t>(st.st_size), static_cast<std::uint64_t>(st.st_blocks) * 512);
}

Scanner::Scanner(const std::vector<SourceRoot>& roots, ScanQueue& queue, JobReport& report)
    : roots_(roots), queue_(queue), report_(report) {}

void Scanner::run() {
    for (std::size_t root = 0; root < roots_.size() && !stopped_; ++root) walk(root);
    levels_.clear();
    report_.edit([](Progress& progress, Outcome&) { progress.totals_final = true; });
    queue_.close();
}

void Scanner::walk(std::size_t root) {
    const SourceRoot& source = roots_[root];
    if (source.leaf.empty()) {
        descend(source.directory.fd(), ".", "");
    } else {
        visit(root, source.directory.fd(), source.leaf, source.leaf);
    }
    while (!levels_.empty() && !stopped_) {
        Level& top = levels_.back();
        errno = 0;
        const dirent* found = ::readdir(top.directory.get());
        if (found == nullptr) {
            if (errno != 0) fail(top.path, errno);
            levels_.pop_back();
            continue;
        }
        const std::string name = found->d_name;
        if (name == "." || name == "..") continue;
        visit(root, ::dirfd(top.directory.get()), name, child(top.path, name));
    }
}

void Scanner::visit(std::size_t root, int directory, const std::string& name, const std::string& path) {
    struct stat st = {};
    if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return fail(path, errno);
    if (auto checked = check_path(split_path(path)); !checked) {
        report_.fail_unannounced({path, ErrorCode::refused, checked.error().message});
        // What lies below is refused for the same reason, and counted one by one.
        if (S_ISDIR(st.st_mode)) descend(directory, name, path);
        return;
    }
    ScannedEntry entry;
    entry.root = root;
    entry.path = path;
    entry.mode = static_cast<std::uint32_t>(st.st_mode) & 07777U;
    entry.mtime_ns = mtime_of(st);
    if (S_ISDIR(st.st_mode)) {
        entry.type = EntryType::directory;
        add(std::move(entry));
        descend(directory, name, path);
    } else if (S_ISREG(st.st_mode)) {
        entry.size = static_cast<std::uint64_t>(st.st_size);
        entry.data_bytes = expected_data_bytes(st);
        add(std::move(entry));
    } else if (S_ISLNK(st.st_mode)) {
        std::array<char, kMaxPathBytes + 1> target{};
        const ssize_t n = ::readlinkat(directory, name.c_str(), target.data(), target.size());
        if (n < 0 || static_cast<std::size_t>(n) > kMaxPathBytes) return fail(path, n < 0 ? errno : ENAMETOOLONG);
        entry.type = EntryType::symlink;
        entry.target.assign(target.data(), static_cast<std::size_t>(n));
        add(std::move(entry));
    } else {
        report_.warn("skipped " + std::string(special_kind(st.st_mode)) + " '" + escape_name(path) + "'");
    }
}

void Scanner::descend(int directory, const std::string& name, const std::string& path) {
    UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return fail(path, errno);
    DIR* opened = ::fdopendir(fd.get());
    if (opened == nullptr) return fail(path, errno);
    static_cast<void>(fd.release());
    levels_.push_back({std::unique_ptr<DIR, CloseDir>(opened), path});
}

void Scanner::add(ScannedEntry entry) {
    report_.edit([&](Progress& progress, Outcome&) {
        if (entry.type == EntryType::file) ++progress.files_total;
        progress.bytes_total += entry.data_bytes;
    });
    const std::size_t cost = sizeof(ScannedEntry) + entry.path.size() + entry.target.size();
    if (!queue_.push(std::move(entry), cost)) stopped_ = true;
}

void Scanner::fail(const std::string& path, int error_number) {
    Error error = io_error("cannot read", path, error_number);
    report_.fail_unannounced({path, error.code, std::move(error.message)});
}

}  // namespace udtx::transfer

#include "transfer/file/owner_rights.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

bool bars_owner(const struct stat& st) {
    return (st.st_mode & mode_bits::kOwner) != mode_bits::kOwner && st.st_uid == ::geteuid();
}

}  // namespace

int open_up_directory(int parent, const std::string& name, std::uint32_t& before, const BeforeOpening& about_to) {
#ifdef O_PATH
    constexpr int kAccess = O_PATH;  // works without the right to read
#else
    constexpr int kAccess = O_RDONLY;
#endif
    const UniqueFd fd(open_entry(parent, name.c_str(), kAccess | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat st = {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return errno;
    before = static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll;
    if (!bars_owner(st)) return 0;
    about_to(before);
    const auto wanted = static_cast<mode_t>(before | mode_bits::kOwner);
#ifdef O_PATH
    // fchmod() refuses an O_PATH descriptor, and chmod() by name would follow an entry that was replaced meanwhile.
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd.get());
    if (again([&] { return ::chmod(by_descriptor.c_str(), wanted); }) == 0) return 0;
    const int error = errno;
    // Without /proc, a directory that may be read can be opened.
    const UniqueFd readable(open_entry(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return readable && ::fchmod(readable.get(), wanted) == 0 ? 0 : error;
#else
    return ::fchmod(fd.get(), wanted) == 0 ? 0 : errno;
#endif
}

std::optional<std::uint32_t> open_up(int directory) {
    struct stat st = {};
    if (::fstat(directory, &st) != 0 || !bars_owner(st)) return std::nullopt;
    const auto before = static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll;
    const auto wanted = static_cast<mode_t>(before | mode_bits::kOwner);
    if (again([&] { return ::fchmod(directory, wanted); }) != 0) return std::nullopt;
    return before;
}

BriefRights::~BriefRights() {
    if (before_) static_cast<void>(again([this] { return ::fchmod(directory_, static_cast<mode_t>(*before_)); }));
}

bool may_umask_bar_owner() {
    // Reading it with umask() would set it for a moment, for all threads.
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        unsigned mask = 0;
        if (word == "Umask:" && status >> std::oct >> mask) return (mask & mode_bits::kOwner) != 0;
    }
    return true;
}

void remove_from(int directory, const std::string& name) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno != EACCES) return;
    const BriefRights rights(directory);
    ::unlinkat(directory, name.c_str(), 0);
}

}  // namespace udtx::transfer

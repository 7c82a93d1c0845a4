#include "transfer/file/belongings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "transfer/file/mode_bits.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

int set_owner(int fd, const Owner& owner) {
    struct stat st = {};
    const auto is_set = [&] { return ::fstat(fd, &st) == 0 && st.st_uid == owner.user && st.st_gid == owner.group; };
    if (is_set()) return 0;
    // Some file systems accept it and do nothing.
    if (again([&] { return ::fchown(fd, owner.user, owner.group); }) == 0) return is_set() ? 0 : EPERM;
    const int error = errno;
    [[maybe_unused]] const int tried = ::fchown(fd, static_cast<uid_t>(-1), owner.group);
    return error;
}

int set_mode(int fd, std::uint32_t mode) {
    struct stat st = {};
    const auto is_set = [&] { return ::fstat(fd, &st) == 0 && (st.st_mode & mode_bits::kAll) == mode; };
    if (is_set()) return 0;
    if (again([&] { return ::fchmod(fd, static_cast<mode_t>(mode)); }) != 0) {
        const int error = errno;
        // If the system refuses only a special bit, set the other bits.
        const bool special = (mode & mode_bits::kSpecial) != 0;
        if (special) static_cast<void>(::fchmod(fd, static_cast<mode_t>(mode & ~mode_bits::kSpecial)));
        return error;
    }
    return is_set() ? 0 : EPERM;
}

}  // namespace udtx::transfer

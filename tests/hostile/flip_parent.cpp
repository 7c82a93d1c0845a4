// A directory that is now itself and now a link that leads elsewhere, for as long as somebody writes below it.
//
//   flip_parent DIR LINK COUNT    exchanges the two names, says "enough" after so many times and goes on until standard
//                                 input ends; then says how many they were
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool is_link(const char* path) {
    struct stat st = {};
    return ::lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

std::string target_of(const char* link) {
    char buffer[4096];
    const ssize_t length = ::readlink(link, buffer, sizeof buffer);
    return {buffer, length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// False, with errno: it cannot be done at all.
bool exchange(const char* one, const char* other) {
    // A receiver that puts its directory in the place of a link takes the name away for a moment.
    for (int tries = 0; tries < 100000; ++tries) {
        if (::syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2U /* RENAME_EXCHANGE */) == 0) return true;
        if (errno != ENOENT) return false;
        ::usleep(20);
    }
    return false;
}

/// Such a receiver leaves two directories: one makes room for a link.
void restore_link(const char* one, const char* other, const std::string& target, long flips) {
    if (is_link(one) || is_link(other)) return;
    const std::string aside = std::string(other) + ".aside" + std::to_string(flips);
    if (::rename(other, aside.c_str()) == 0) static_cast<void>(::symlink(target.c_str(), other) == 0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: flip_parent DIR LINK COUNT\n", stderr);
        return 2;
    }
    const long least = std::strtol(argv[3], nullptr, 10);
    const std::string target = target_of(argv[2]);
    long flips = 0;
    for (;; ++flips) {
        if (flips % 64 == 0) restore_link(argv[1], argv[2], target, flips);
        if (!exchange(argv[1], argv[2])) {
            std::perror("renameat2");
            return 1;
        }
        struct pollfd input = {0, POLLIN, 0};
        if (flips == least) {
            std::puts("enough");
            std::fflush(stdout);
        }
        const bool ended = flips % 64 == 0 && ::poll(&input, 1, 0) > 0;
        if (ended && flips >= least) break;
        // Whoever writes has to find it both ways.
        if (flips % 16 == 0) ::usleep(20);
    }
    std::printf("%ld\n", flips);
    return 0;
}

// Exchanges a directory with a link that leads elsewhere, again and again, while another program writes below it.
//
//   flip_parent DIR LINK COUNT    exchanges the two names, prints "enough" after COUNT times, continues until standard
//                                 input ends, and prints the number of exchanges
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

/// Returns false, with errno, if the names cannot be exchanged at all.
bool exchange(const char* one, const char* other) {
    // A receiver that replaces a link by its directory removes the name for a moment, so retry on ENOENT.
    for (int tries = 0; tries < 100000; ++tries) {
        if (::syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, 2U /* RENAME_EXCHANGE */) == 0) return true;
        if (errno != ENOENT) return false;
        ::usleep(20);
    }
    return false;
}

/// A receiver that replaced the link leaves two directories. Moves one of them aside and creates the link again.
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
        // Pause, so that the writing program finds both the directory and the link.
        if (flips % 16 == 0) ::usleep(20);
    }
    std::printf("%ld\n", flips);
    return 0;
}

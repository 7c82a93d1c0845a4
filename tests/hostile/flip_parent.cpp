// A directory that is now itself and now a link that leads elsewhere, for as long as somebody writes below it.
//
//   flip_parent DIR LINK COUNT    exchanges the two names, says "enough" after so many times and goes on until standard
//                                 input ends; then says how many they were
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: flip_parent DIR LINK COUNT\n", stderr);
        return 2;
    }
    const long least = std::strtol(argv[3], nullptr, 10);
    long flips = 0;
    for (;; ++flips) {
        if (::syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2], 2U /* RENAME_EXCHANGE */) != 0) {
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

// Plays an attacker who took over a receiver. It is preloaded into the receiver and makes an attacker's attempts in the
// main thread once the receiver serves. $UDTX_TAKEN_OVER names a directory with `in` (the receiver's directory), `out`
// (forbidden to it) and `now`, whose creation starts the attempts. Prints a line for each attempt, with its error or
// "done".
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

namespace {

std::string g_place;
int g_terminal = -1;

std::string in(const char* name) { return g_place + "/in/" + name; }
std::string out(const char* name) { return g_place + "/out/" + name; }

void attempt(const char* name, const std::function<bool()>& act) {
    errno = 0;
    const bool done = act();
    std::printf("%s %s\n", name, done ? "done" : ::strerrorname_np(errno));
}

bool writes(const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd < 0) return false;
    const bool written = ::write(fd, "taken over\n", 11) == 11;
    ::close(fd);
    return written;
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
}

/// `act` is bind() or connect(). A program that listens on such a socket takes the bytes as orders from this user.
bool opens_socket(const std::string& path, int (*act)(int, const sockaddr*, socklen_t)) {
    const sockaddr_un address = address_of(path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bool done = act(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int error = errno;
    ::close(fd);
    errno = error;
    return done;
}

/// Runs `act` in a child process, whose exit code is the errno of `act`.
bool child(const std::function<void()>& act) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        errno = 0;
        act();
        ::_exit(errno);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    errno = WEXITSTATUS(status);
    return errno == 0;
}

bool starts(const std::string& path) {
    return child([&] {
        std::string program = path;
        char* const words[] = {program.data(), nullptr};
        char* const none[] = {nullptr};
        ::execve(path.c_str(), words, none);
    });
}

/// One half of a socket pair can be connected to any address.
bool turns_pair(const std::string& path) {
    const sockaddr_un address = address_of(path);
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    // A stream socket that listens refuses datagrams. The error shows that it was found, which is all that matters
    // here.
    const bool found =
        ::connect(pair[0], reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EPROTOTYPE;
    const int error = errno;
    ::close(pair[0]);
    ::close(pair[1]);
    errno = error;
    return found;
}

/// Puts a character into the terminal's input, as if its user had typed it. Only 32 bits of an ioctl request count.
bool types() {
    const char key = 'x';
    return ::syscall(SYS_ioctl, g_terminal, 0x100000000UL | TIOCSTI, &key) == 0;
}

bool starts_from_memory() {
    return child([] {
        const int from = ::open("/bin/true", O_RDONLY | O_CLOEXEC);
        const int memory = ::memfd_create("true", MFD_CLOEXEC);
        char block[65536];
        for (ssize_t n = ::read(from, block, sizeof block); n > 0; n = ::read(from, block, sizeof block)) {
            if (::write(memory, block, static_cast<std::size_t>(n)) != n) return;
        }
        char* const words[] = {block, nullptr};
        char* const none[] = {nullptr};
        ::syscall(SYS_execveat, memory, "", words, none, AT_EMPTY_PATH);
    });
}

pid_t bystander() {
    pid_t pid = 0;
    std::ifstream(g_place + "/bystander") >> pid;
    if (pid <= 1) ::_exit(99);  // 0 would kill the whole test
    return pid;
}

void outside() {
    attempt("out-overwrite", [] { return writes(out("file"), O_WRONLY); });
    attempt("out-empty", [] { return writes(out("file"), O_WRONLY | O_TRUNC); });
    attempt("out-truncate", [] { return ::truncate(out("file").c_str(), 1) == 0; });
    attempt("out-create", [] { return writes(out("new"), O_WRONLY | O_CREAT); });
    attempt("out-through-link", [] { return writes(in("way-out/by-link"), O_WRONLY | O_CREAT); });
    attempt("out-through-proc", [] { return writes("/proc/self/root" + out("by-proc"), O_WRONLY | O_CREAT); });
    attempt("out-mkdir", [] { return ::mkdir(out("dir").c_str(), 0755) == 0; });
    attempt("out-symlink", [] { return ::symlink("/etc/passwd", out("symlink").c_str()) == 0; });
    attempt("out-link-there", [] { return ::link(in("mine").c_str(), out("link").c_str()) == 0; });
    attempt("out-link-here", [] { return ::link(out("file").c_str(), in("link").c_str()) == 0; });
    attempt("out-rename-there", [] { return ::rename(in("mine").c_str(), out("renamed").c_str()) == 0; });
    attempt("out-rename-here", [] { return ::rename(out("file").c_str(), in("fetched").c_str()) == 0; });
    attempt("out-pipe", [] { return ::mkfifo(out("pipe").c_str(), 0600) == 0; });
    attempt("out-socket", [] { return opens_socket(out("socket"), ::bind); });
    attempt("out-unlink", [] { return ::unlink(out("doomed").c_str()) == 0; });
    attempt("out-rmdir", [] { return ::rmdir(out("empty").c_str()) == 0; });
}

void programs() {
    attempt("out-start", [] { return starts("/bin/true"); });
    attempt("out-start-own", [] { return starts(in("program")); });
    attempt("out-start-memory", [] { return starts_from_memory(); });
    // Traces a grandchild from a child, because a system may forbid tracing any process that is not a descendant
    // (Yama).
    attempt("out-ptrace", [] {
        return child([] {
            const pid_t traced = ::fork();
            if (traced == 0) {
                ::pause();
                ::_exit(0);
            }
            errno = 0;
            ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr);
            const int error = errno;
            ::kill(traced, SIGKILL);
            ::waitpid(traced, nullptr, 0);
            errno = error;
        });
    });
    attempt("root-mount", [] {
        return child([] {
            if (::syscall(SYS_unshare, 0x00020000) != 0) return;
            if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
            errno = ::mount("none", out("").c_str(), "tmpfs", 0, nullptr) == 0 ? 0 : errno;
        });
    });
    attempt("root-device", [] { return ::mknod(in("device").c_str(), S_IFBLK | 0600, 0x700) == 0; });
    attempt("out-call", [] { return opens_socket(g_place + "/socket", ::connect); });
    attempt("out-turn-pair", [] { return turns_pair(g_place + "/socket"); });
    attempt("root-type", types);
    attempt("signal", [] { return ::kill(bystander(), SIGKILL) == 0; });
}

#ifdef __x86_64__
/// Makes a system call by the number that 32-bit programs use.
bool calls_as_32_bit() {
    long result = 20;  // getpid
    asm volatile("int $0x80" : "+a"(result) : : "memory", "cc", "r8", "r9", "r10", "r11");
    errno = result < 0 ? static_cast<int>(-result) : 0;
    return result >= 0;
}
#endif

/// Attempts whose result depends on the system, the file system and the user. With a sandbox the kernel never runs
/// them.
void not_asked() {
#ifdef __x86_64__
    attempt("seen-32-bit", calls_as_32_bit);
    attempt("seen-x32", [] { return ::syscall(0x40000000 | SYS_getpid) > 0; });
#endif
    attempt("seen-attribute", [] { return ::setxattr(out("file").c_str(), "user.x", "y", 1, 0) == 0; });
    attempt("seen-flags", [] {
        const int fd = ::open(out("file").c_str(), O_RDONLY | O_CLOEXEC);
        int flags = FS_NOATIME_FL;
        const bool set = ::ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
        ::close(fd);
        return set;
    });
    attempt("seen-subvolume", [] {
        const int fd = ::open(out("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        btrfs_ioctl_vol_args volume{};
        std::strcpy(volume.name, "volume");
        const bool made = ::ioctl(fd, BTRFS_IOC_SUBVOL_CREATE, &volume) == 0;
        ::close(fd);
        return made;
    });
    attempt("seen-namespace", [] {
        const long pid = ::syscall(SYS_clone, 0x10000000 /* CLONE_NEWUSER */ | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) ::_exit(0);
        if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
        return pid > 0;
    });
    attempt("seen-handle", [] {
        file_handle none{};
        return ::open_by_handle_at(AT_FDCWD, &none, O_RDONLY) >= 0;
    });
    attempt("seen-limits", [] {
        rlimit limits{};
        return ::prlimit(bystander(), RLIMIT_NOFILE, nullptr, &limits) == 0;
    });
    attempt("seen-descriptors", [] { return ::syscall(438, -1, 0, 0) >= 0; });  // pidfd_getfd
    attempt("seen-memory", [] {
        char from = 'x';
        char to = 0;
        const iovec here{&to, 1};
        const iovec there{&from, 1};
        return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1;
    });
}

void inside(const char* prefix, const std::string& at) {
    const auto name = [&](const char* what) { return std::string(prefix) + what; };
    attempt(name("-create").c_str(), [&] { return writes(at + "/a", O_WRONLY | O_CREAT | O_TRUNC); });
    attempt(name("-truncate").c_str(), [&] {
        const int fd = ::open((at + "/a").c_str(), O_RDWR | O_CLOEXEC);
        const bool cut = ::ftruncate(fd, 3) == 0;
        ::close(fd);
        return cut;
    });
    attempt(name("-mkdir").c_str(), [&] { return ::mkdir((at + "/d").c_str(), 0755) == 0; });
    attempt(name("-link").c_str(), [&] { return ::link((at + "/a").c_str(), (at + "/d/b").c_str()) == 0; });
    attempt(name("-rename").c_str(), [&] { return ::rename((at + "/a").c_str(), (at + "/d/c").c_str()) == 0; });
    attempt(name("-symlink").c_str(), [&] { return ::symlink("c", (at + "/d/s").c_str()) == 0; });
    attempt(name("-unlink").c_str(), [&] { return ::unlink((at + "/d/s").c_str()) == 0; });
    attempt(name("-read").c_str(), [&] { return ::access(out("file").c_str(), R_OK) == 0; });
}

void try_everything() {
    inside("in", g_place + "/in");
    if (::access((g_place + "/in/mount/here").c_str(), F_OK) == 0) inside("mount", g_place + "/in/mount");
    outside();
    not_asked();
    programs();
    std::printf("scopes %s\n", ::syscall(444, nullptr, 0, 1) >= 6 ? "done" : "none");  // Landlock's version
    std::printf("over\n");
    std::fflush(stdout);
}

/// Opens things before the sandbox starts: a terminal, and a socket that listens as another program's would.
[[gnu::constructor]] void open_first() {
    const char* const place = std::getenv("UDTX_TAKEN_OVER");
    // The library is also preloaded into the shell's tools around the receiver.
    if (place == nullptr || std::strcmp(program_invocation_short_name, "udtx-recv") != 0) return;
    const sockaddr_un address = address_of(std::string(place) + "/socket");
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 5) != 0) {
        std::perror("taken_over: socket");
    }
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return;
    g_terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

}  // namespace

extern "C" int poll(pollfd* entries, nfds_t count, int timeout) {
    using Poll = int (*)(pollfd*, nfds_t, int);
    static const auto real = reinterpret_cast<Poll>(::dlsym(RTLD_NEXT, "poll"));
    static bool tried = false;
    const char* const place = std::getenv("UDTX_TAKEN_OVER");
    if (!tried && place != nullptr && ::gettid() == ::getpid() &&
        ::access((std::string(place) + "/now").c_str(), F_OK) == 0) {
        tried = true;
        g_place = place;
        try_everything();
    }
    return real(entries, count, timeout);
}

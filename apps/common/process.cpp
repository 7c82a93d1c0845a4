#include "common/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <system_error>

#include "common/exit_codes.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/version.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace udtx::apps {

Error failed_call(ErrorCode code, const std::string& what, int error_number) {
    if (error_number == ENOMEM) code = ErrorCode::no_resources;
    return {code, what + ": " + std::generic_category().message(error_number), error_number};
}

StandardDescriptors::StandardDescriptors() noexcept {
    for (int fd = 0; fd < 3; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        closed_[static_cast<std::size_t>(fd)] = true;
        // open() returns the lowest free number, which is `fd`. The mode is reversed, so that any use fails with an
        // error.
        [[maybe_unused]] const int opened = open_file("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

void raise_descriptor_limit() noexcept {
    constexpr rlim_t kEnough = 16384;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = std::min(limit.rlim_max, kEnough);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool read_some(int fd, std::string& buffer) {
    std::array<char, 4096> block{};
    const ssize_t n = ::read(fd, block.data(), block.size());
    if (n > 0) buffer.append(block.data(), static_cast<std::size_t>(n));
    return n > 0 || (n < 0 && errno == EINTR);
}

int write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

void forbid_core_dumps() noexcept {
#ifdef NDEBUG
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    // The core limit does not apply if the system pipes dumps to a handler. This call also stops the user's other
    // programs from reading this process's memory.
    ::prctl(PR_SET_DUMPABLE, 0);
#endif
#endif
}

void end_cleanly_without_memory() noexcept {
    // current_exception() can be empty if the compiler inlined the noexcept function into its caller. Therefore this
    // flag records the failed allocation.
    static thread_local bool none_left = false;
    std::set_new_handler([] {
        none_left = true;
        throw std::bad_alloc();
    });
    std::set_terminate([] {
        try {
            if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
            if (none_left) throw std::bad_alloc();
        } catch (const std::bad_alloc&) {
            constexpr std::string_view kText = "out of memory\n";
            [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kText.data(), kText.size());
            std::_Exit(static_cast<int>(ExitCode::network));
        } catch (...) {
            // An error of this program: abort as usual.
        }
        std::abort();
    });
}

const char* program_version() noexcept { return UDTX_VERSION_STRING; }

bool wants_json(const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::any_of(arguments.begin(), end, [](const auto& a) { return a == "--json" || a == "--json-stream"; });
}

namespace {

// SIGXCPU: the time limit of `ulimit -t` is used up, and SIGKILL follows.
struct NamedSignal {
    int number;
    const char* name;
};
constexpr std::array<NamedSignal, 4> kSignals{
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGXCPU, "SIGXCPU (ulimit -t)"}}};
std::atomic<int> g_pipe{-1};  // a signal handler can reach it only through a global
static_assert(std::atomic<int>::is_always_lock_free);

// Events of one transfer must not end a server. With SIGPIPE and SIGXFSZ (`ulimit -f`) ignored, write() returns an
// error. Some users send SIGUSR1 or SIGUSR2 to ask a copy program for its progress.
constexpr std::array kIgnored{SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2};

extern "C" void udtx_on_signal(int signal) {
    const int saved = errno;
    const auto byte = static_cast<unsigned char>(signal);
    // If the pipe is full, it holds enough signals already.
    [[maybe_unused]] const ssize_t n = again([&] { return ::write(g_pipe.load(), &byte, 1); });
    errno = saved;
}

}  // namespace

void restore_ignored(sigset_t& defaults) noexcept {
    for (const int signal : kIgnored) sigaddset(&defaults, signal);
}

SignalWaiter::SignalWaiter() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    read_end_.reset(ends[0]);
    write_end_.reset(ends[1]);
    for (const int fd : ends) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        ::fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    g_pipe = write_end_.get();
    struct sigaction action {};
    action.sa_handler = udtx_on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const auto& [signal, name] : kSignals) {
        struct sigaction before {};
        if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        ::sigaction(signal, &action, nullptr);
        caught_.push_back(signal);
    }
    for (const int signal : kIgnored) std::signal(signal, SIG_IGN);
}

SignalWaiter::~SignalWaiter() {
    for (const int signal : caught_) std::signal(signal, SIG_DFL);
    g_pipe = -1;
}

std::optional<int> SignalWaiter::wait(std::chrono::milliseconds timeout) {
    pollfd entry{read_end_.get(), POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
    unsigned char byte = 0;
    if (again([&] { return ::read(read_end_.get(), &byte, 1); }) != 1 || byte == 0) return std::nullopt;
    return static_cast<int>(byte);
}

void SignalWaiter::wake() {
    const unsigned char byte = 0;
    [[maybe_unused]] const ssize_t n = again([&] { return ::write(write_end_.get(), &byte, 1); });
}

Interruption::Wish Interruption::on_signal(int signal, Instant now) noexcept {
    if (signal_ != 0) return now - first_ < kOneGesture ? Wish::repeated : Wish::leave;
    signal_ = signal;
    first_ = now;
    return Wish::wind_up;
}

const char* signal_name(int signal) noexcept {
    const auto* const found = std::ranges::find(kSignals, signal, &NamedSignal::number);
    return found == kSignals.end() ? "a signal" : found->name;
}

std::string interrupted_by(int signal) { return std::string("interrupted by ") + signal_name(signal); }

std::string repeated_signal(int signal) {
    return std::string(signal_name(signal)) + " within " + format_elapsed(Interruption::kOneGesture) +
           " of the last signal counts as the same one; a later one takes effect";
}

Result<std::string> runtime_directory() {
    const char* base = std::getenv("XDG_RUNTIME_DIR");
    const std::string path =
        base != nullptr && *base == '/' ? std::string(base) + "/udtx" : "/tmp/udtx-" + std::to_string(::geteuid());
    const int made = ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
    struct stat info {};
    const int looked = ::lstat(path.c_str(), &info) == 0 ? 0 : errno;
    if (looked != 0) {
        return failed_call(ErrorCode::file_io, "cannot make " + path, made != 0 ? made : looked);
    }
    // Any user can create this name below /tmp first.
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0077U) != 0) {
        return Error{ErrorCode::file_io, path + " must be a directory of this user with mode 0700"};
    }
    return path;
}

std::optional<unsigned> mtu_of(const std::string& interface) {
    std::ifstream in(std::filesystem::path("/sys/class/net") / interface / "mtu");
    unsigned value = 0;
    return in >> value ? std::optional(value) : std::nullopt;
}

std::optional<LocalInterface> interface_of(const Address& local) {
    const auto interfaces = list_interfaces();
    if (!interfaces) return std::nullopt;
    const auto same = [&](const Address& one) { return one.family == local.family && one.ip == local.ip; };
    for (const Interface& one : *interfaces) {
        if (std::none_of(one.addresses.begin(), one.addresses.end(), same)) continue;
        const auto mtu = mtu_of(one.name);
        return mtu ? std::optional(LocalInterface{one.name, *mtu}) : std::nullopt;
    }
    return std::nullopt;
}

namespace {

/// True if only this host, or one link of it, can use the address.
bool is_local(const Address& address) {
    const auto& ip = address.ip;
    if (address.family == Address::Family::v4) return ip[0] == 127 || (ip[0] == 169 && ip[1] == 254);
    const bool link_local = ip[0] == 0xfe && (ip[1] & 0xc0U) == 0x80;
    return link_local || (std::all_of(ip.begin(), ip.end() - 1, [](std::uint8_t b) { return b == 0; }) && ip[15] == 1);
}

}  // namespace

std::vector<Address> own_addresses() {
    constexpr std::size_t kMost = 32;
    std::vector<Address> own;
    const auto interfaces = list_interfaces();
    for (std::size_t i = 0; interfaces && i < interfaces->size(); ++i) {
        for (const Address& address : (*interfaces)[i].addresses) {
            if (own.size() < kMost && !is_local(address)) own.push_back(address);
        }
    }
    return own;
}

Result<std::string> read_file(const std::string& path) {
    const auto failed = [&] {
        return failed_call(ErrorCode::file_io, "cannot read '" + escape_for_terminal(path) + '\'', errno);
    };
    const UniqueFd file(open_file(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return failed();
    std::string text;
    std::array<char, 65536> part{};
    for (;;) {
        const ssize_t n = again([&] { return ::read(file.get(), part.data(), part.size()); });
        if (n < 0) return failed();  // EISDIR if it is a directory
        if (n == 0) return text;
        text.append(part.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace udtx::apps

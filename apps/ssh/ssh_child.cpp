#include "ssh/ssh_child.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>
#include <utility>

#include "common/process.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace udtx::apps {
namespace {

// A login that takes longer waits for a user who types.
constexpr std::chrono::seconds kFor{20};

#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
// ssh opens few files, so its connection has one of these numbers.
constexpr int kFirst = 3;
constexpr int kLast = 9;

int open_process(pid_t child) {
    // A filter of system calls may kill a process that asks for another one's descriptors.
    if (::prctl(PR_GET_SECCOMP) != 0) return -1;
    return static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
}

/// Copies a descriptor of the process for a moment, to set its TCP options. False: the system forbids it.
bool hasten_one(int process, int number) {
    const UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process, number, 0)));
    if (!copy) return errno == EBADF;
    const int on = 1;
    // Fails without effect if it is not a TCP socket.
    static_cast<void>(::setsockopt(copy.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    static_cast<void>(::setsockopt(copy.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on));
    return true;
}
#else
constexpr int kFirst = 0;
constexpr int kLast = 0;
int open_process(pid_t) { return -1; }
bool hasten_one(int, int) { return false; }
#endif

}  // namespace

PromptTcp::PromptTcp(pid_t child) : process_(open_process(child)), until_(std::chrono::steady_clock::now() + kFor) {}

bool PromptTcp::hasten() {
    if (!process_ || std::chrono::steady_clock::now() >= until_) return false;
    for (int number = kFirst; number <= kLast; ++number) {
        if (!hasten_one(process_.get(), number)) return false;
    }
    return true;
}

}  // namespace udtx::apps

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace udtx::apps {
namespace {

constexpr std::size_t kMaxLine = 1U << 20U;
// Bytes of all lines of a child. Login scripts print a few lines, and udtx some kilobytes.
constexpr std::size_t kMaxSaid = 4U << 20U;
constexpr auto kKillAfter = std::chrono::seconds(2);
constexpr int kUnknownStatus = kSshFailed;

struct Pipe {
    UniqueFd read, write;
    static Result<Pipe> make() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed_call(ErrorCode::no_resources, "pipe", errno);
        return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
    }
};

/// Passes on whole lines of the input, until `take` returns false; the rest stays in `buffer`.
template <class Take>
void split_lines(std::string& buffer, Take&& take) {
    std::size_t begin = 0;
    for (std::size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n', begin)) {
        std::string_view line = std::string_view(buffer).substr(begin, end - begin);
        if (line.ends_with('\r')) line.remove_suffix(1);
        begin = end + 1;
        if (!take(line)) break;
    }
    buffer.erase(0, begin);
    if (buffer.size() > kMaxLine) buffer.clear();  // lines of udtx are shorter
}

Result<pid_t> spawn(const std::vector<std::string>& command, const Pipe& in, const Pipe& out, const Pipe& err) {
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, in.read.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
    // exec keeps ignored signals, so the ones that this process ignores are reset.
    sigset_t defaults;
    sigemptyset(&defaults);
    restore_ignored(defaults);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    pid_t pid = -1;
    const int failed = ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    const bool scarce = failed == EAGAIN || failed == ENOMEM || failed == EMFILE || failed == ENFILE;
    if (failed != 0) {
        return failed_call(scarce ? ErrorCode::no_resources : ErrorCode::network,
                           "cannot start '" + command.front() + "'", failed);
    }
    return pid;
}

}  // namespace

Result<std::unique_ptr<SshChild>> SshChild::start(const std::vector<std::string>& command, Callbacks callbacks) {
    auto in = Pipe::make();
    auto out = Pipe::make();
    auto err = Pipe::make();
    auto stop = Pipe::make();
    for (const auto* made : {&in, &out, &err, &stop}) {
        if (!*made) return made->error();
    }
    const auto pid = spawn(command, *in, *out, *err);
    if (!pid) return pid.error();
    Pipes pipes{std::move(in->write), std::move(out->read), std::move(err->read)};
    return std::unique_ptr<SshChild>(
        new SshChild(*pid, std::move(pipes), std::move(stop->read), std::move(stop->write), std::move(callbacks)));
}

SshChild::SshChild(pid_t pid, Pipes pipes, UniqueFd stop_read, UniqueFd stop_write, Callbacks callbacks)
    : pid_(pid),
      pipes_(std::move(pipes)),
      stop_read_(std::move(stop_read)),
      stop_write_(std::move(stop_write)),
      callbacks_(std::move(callbacks)),
      tcp_(pid),
      reader_([this] { read_all(); }) {}

SshChild::~SshChild() { static_cast<void>(finish(std::chrono::milliseconds(0))); }

Result<void> SshChild::write(std::string_view text) {
    if (const int failed = write_all(pipes_.in.get(), text); failed != 0)
        return failed_call(ErrorCode::network, "ssh", failed);
    return {};
}

std::optional<SshChild::ChannelEnds> SshChild::take_channel() {
    const auto output = output_.lock();
    if (!output->channel || !pipes_.out) return std::nullopt;
    return ChannelEnds{
        .from = std::move(pipes_.out), .received = std::move(*output->channel), .to = std::move(pipes_.in)};
}

std::optional<std::string> SshChild::next_line() {
    const auto output = output_.lock();
    if (output->lines.empty()) return std::nullopt;
    Line line = std::move(output->lines.front());
    output->lines.pop_front();
    output->line_came = line.came;
    return std::move(line.text);
}

std::chrono::system_clock::time_point SshChild::line_came() const { return output_.lock()->line_came; }

bool SshChild::ended() const {
    const auto output = output_.lock();
    return output->at_end && output->lines.empty();
}

bool SshChild::said_too_much() const { return output_.lock()->said > kMaxSaid; }

bool SshChild::gone() { return status_ || reap(std::chrono::milliseconds(0)) || output_.lock()->at_end; }

std::optional<int> SshChild::status() {
    if (!status_) static_cast<void>(reap(std::chrono::milliseconds(0)));
    return status_;
}

void SshChild::read_all() {
    try {
        read_until_stopped();
    } catch (const std::exception&) {  // out of memory for a line: treated as the end
        output_.lock()->at_end = true;
        callbacks_.news();
    }
}

void SshChild::read_until_stopped() {
    std::string out;
    std::string err;
    std::array<pollfd, 3> entries{
        {{pipes_.out.get(), POLLIN, 0}, {pipes_.err.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}}};
    for (;;) {
        if (tcp_ && !tcp_->hasten()) tcp_.reset();
        const int patience = tcp_ ? static_cast<int>(PromptTcp::kEvery.count()) : -1;
        if (::poll(entries.data(), entries.size(), patience) < 0) {
            if (errno == EINTR) continue;
            return;
        }
        if (entries[1].revents != 0) {
            if (!read_some(entries[1].fd, err)) entries[1].fd = -1;
            split_lines(err, [this](std::string_view line) {
                callbacks_.complaint(line);
                return true;
            });
        }
        if (entries[0].revents != 0) {
            tcp_.reset();
            bool more = read_some(entries[0].fd, out);
            {
                const auto output = output_.lock();
                const auto now = std::chrono::system_clock::now();
                split_lines(out, [&](std::string_view line) {
                    if (line == kChannelLine) output->channel.emplace();
                    if (output->channel) return false;
                    output->said += sizeof(Line) + line.size();
                    output->lines.push_back({std::string(line), now});
                    return true;
                });
                more = more && output->said <= kMaxSaid;
                output->at_end = !more && !output->channel;
                if (output->channel) {
                    *output->channel = std::exchange(out, {});
                    more = false;
                }
            }
            if (!more) entries[0].fd = -1;
            callbacks_.news();
        }
        // Reads what was written before the stop, but does not wait for the pipe's end: a ControlMaster may keep it
        // open for hours.
        const bool quiet = entries[0].revents == 0 && entries[1].revents == 0;
        if (entries[2].revents != 0 && quiet) return;
    }
}

bool SshChild::reap(std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        int status = 0;
        const pid_t got = ::waitpid(pid_, &status, WNOHANG);
        if (got == pid_) status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (got < 0 && errno != EINTR) status_ = kUnknownStatus;
        if (status_) return true;
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(kPoll);
    }
}

int SshChild::finish(std::chrono::milliseconds patience) {
    pipes_.in.reset();
    if (!status_ && !reap(patience)) {
        ::kill(pid_, SIGTERM);
        if (!reap(kKillAfter)) {
            ::kill(pid_, SIGKILL);
            static_cast<void>(reap(kKillAfter));
        }
    }
    stop_write_.reset();
    if (reader_.joinable()) reader_.join();
    return status_.value_or(kUnknownStatus);
}

}  // namespace udtx::apps

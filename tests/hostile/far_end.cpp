#include "far_end.hpp"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "peer_program.hpp"
#include "rendezvous/code.hpp"

namespace udtx::hostile {
namespace {

using test::die;
using test::need;

constexpr std::size_t kKeyBytes = 32;
constexpr auto kEndsWithin = std::chrono::seconds(20);

/// `fd`: standard input and output, or -1.
pid_t run(std::string word, int fd) {
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) {
        if (fd >= 0) ::posix_spawn_file_actions_adddup2(&actions, fd, standard);
    }
    std::string shell = "sh";
    std::string option = "-c";
    std::string command = variable("HOSTILE_FAR_END");
    const std::array<char*, 6> words{shell.data(), option.data(), command.data(), shell.data(), word.data(), nullptr};
    pid_t pid = 0;
    if (::posix_spawn(&pid, "/bin/sh", &actions, nullptr, words.data(), environ) != 0) die("no far end");
    ::posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/// Reads no byte behind the line.
std::string read_line(int fd) {
    std::string line;
    for (char c = 0; ::read(fd, &c, 1) == 1;) {
        if (c == '\n') return line;
        line += c;
    }
    die("the far end says only '" + line + "'");
}

Meeting meet() {
    const Address relay = test::loopback(static_cast<std::uint16_t>(std::stoul(variable("HOSTILE_RELAY"))));
    Meeting meeting;
    const auto tell = [&](const apps::Code& code) { meeting.far_end.pid = run(apps::to_text(code), -1); };
    meeting.end = need(apps::MetEnd::await(
        {relay}, tell, [](std::size_t) { die("another code"); }, -1));
    need(meeting.end->start());
    return meeting;
}

}  // namespace

bool over(std::string_view name) {
    const char* const carrier = std::getenv("HOSTILE_CARRIER");
    return carrier != nullptr && carrier == name;
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) die(std::string("$") + name + " is missing");
    return value;
}

FarEnd start_over_ssh() {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) die("no socket pair");
    FarEnd end{.stream = UniqueFd(pair[0])};
    const UniqueFd far(pair[1]);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(end.stream.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    end.pid = run({}, far.get());
    std::string request = read_line(end.stream.get()) + "\nkey ";
    for (std::size_t i = 0; i < kKeyBytes; ++i) request += "01";
    request += "\ntransfer 0\nshape contents\ndestination " + variable("HOSTILE_FAR_DIR") + "/\nchannel 1\nend\n";
    const ssize_t written = ::send(end.stream.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (written != static_cast<ssize_t>(request.size())) die("the far end takes no request");
    while (read_line(end.stream.get()) != "udtx-channel") {
    }
    return end;
}

Meeting& meeting() {
    static Meeting one = meet();
    return one;
}

int code_of(pid_t far_end) {
    const auto end = std::chrono::steady_clock::now() + kEndsWithin;
    int status = 0;
    while (::waitpid(far_end, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() >= end) ::kill(far_end, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

long peak_mebibytes() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_maxrss / 1024;
}

Credentials own_credentials(const char* file) {
    if (over("ssh")) {
        std::array<std::byte, kKeyBytes> key{};
        key.fill(std::byte{1});
        return Credentials::from_psk(key);
    }
    if (over("relay")) return Credentials::from_psk(meeting().end->key().bytes());
    return need(Credentials::from_psk_file(file));
}

}  // namespace udtx::hostile

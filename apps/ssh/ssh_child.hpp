// ssh as a child process: lines to and from it, its TCP connection, its exit status.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/guarded.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

// Exit codes of ssh, and of the shell at its other end, if the command did not run.

inline constexpr int kCommandNotRunnable = 126;
inline constexpr int kCommandNotFound = 127;
inline constexpr int kSshFailed = 255;

// Removes delays from a child process's TCP connection. OpenSSH turns Nagle's algorithm off only for the session.
// Before that, a packet that follows another waits for its acknowledgement, which either kernel delays by 40 ms.

class PromptTcp {
  public:
    /// Longest delay of an acknowledgement after a packet.
    static constexpr std::chrono::milliseconds kEvery{5};

    /// `child` must not have been waited for yet.
    explicit PromptTcp(pid_t child);

    /// Call it every kEvery. From then on the child's TCP connections send at once, and pending acknowledgements leave
    /// now. False: no more calls are needed, because the system forbids it (Linux before 5.6, a container) or enough
    /// time has passed.
    [[nodiscard]] bool hasten();

  private:
    UniqueFd process_;
    std::chrono::steady_clock::time_point until_;
};

// A child process (ssh) with which this process exchanges lines over standard input and output.

class SshChild {
  public:
    /// Polling interval for a caller that waits for a silent child.
    static constexpr std::chrono::milliseconds kPoll{5};

    struct Callbacks {
        /// Gets a line of its standard error. Runs on the reader's thread.
        std::function<void(std::string_view line)> complaint;
        /// Called when next_line() or ended() has changed. Runs on the reader's thread.
        std::function<void()> news;
    };

    /// Looks the program up in PATH. The child keeps this process's terminal and process group, so that it can ask for
    /// a password.
    static Result<std::unique_ptr<SshChild>> start(const std::vector<std::string>& command, Callbacks callbacks);
    /// Does the same as finish() without patience.
    ~SshChild();
    SshChild(const SshChild&) = delete;
    SshChild& operator=(const SshChild&) = delete;

    /// After this line of standard output, both pipes carry datagrams (Channel).
    static constexpr std::string_view kChannelLine = "udtx-channel";
    struct ChannelEnds {
        UniqueFd from;         ///< its standard output ...
        std::string received;  ///< ... and what was read of it behind the line
        UniqueFd to;           ///< its standard input
    };
    /// Hands over the pipes once the line has come; nullopt: it has not, or they were handed over already.
    [[nodiscard]] std::optional<ChannelEnds> take_channel();

    Result<void> write(std::string_view text);
    /// The next line of its standard output, if there is one.
    [[nodiscard]] std::optional<std::string> next_line();
    /// Arrival time of the last line that next_line() returned.
    [[nodiscard]] std::chrono::system_clock::time_point line_came() const;
    /// True if its standard output has ended and all lines were taken.
    [[nodiscard]] bool ended() const;
    /// True if it wrote more to standard output than udtx ever would. The rest is not read.
    [[nodiscard]] bool said_too_much() const;
    /// True if it has exited or closed its standard output.
    [[nodiscard]] bool gone();
    /// What a shell would have in $?; nullopt: it has not exited.
    [[nodiscard]] std::optional<int> status();
    /// Closes its standard input and waits for its exit. After `patience` it sends SIGTERM. Returns what a shell would
    /// have in $?. Before the return, all its output is passed on.
    int finish(std::chrono::milliseconds patience);

  private:
    struct Pipes {
        UniqueFd in, out, err;  // this process's ends
    };
    SshChild(pid_t pid, Pipes pipes, UniqueFd stop_read, UniqueFd stop_write, Callbacks callbacks);
    /// Runs on the reader's thread.
    void read_all();
    void read_until_stopped();
    [[nodiscard]] bool reap(std::chrono::milliseconds patience);

    pid_t pid_;
    std::optional<int> status_;
    Pipes pipes_;
    UniqueFd stop_read_;
    UniqueFd stop_write_;
    Callbacks callbacks_;

    std::optional<PromptTcp> tcp_;  // until the first output; reader's thread only

    struct Line {
        std::string text;
        std::chrono::system_clock::time_point came;
    };
    struct Output {
        std::deque<Line> lines{};
        std::chrono::system_clock::time_point line_came{};
        std::size_t said = 0;  // bytes of lines, with the memory that holds them
        bool at_end = false;
        std::optional<std::string> channel{};  // what was read behind kChannelLine
    };
    Guarded<Output> output_;

    std::thread reader_;
};

}  // namespace udtx::apps

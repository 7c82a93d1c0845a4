// A child process that is talked to over its standard input and output, line by line: ssh.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ssh/prompt_tcp.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class SshChild {
  public:
    /// So often whoever waits for a child that says nothing looks at it again.
    static constexpr std::chrono::milliseconds kPoll{5};

    struct Callbacks {
        std::function<void(std::string_view line)> complaint;  ///< a line of its standard error; reader's thread
        std::function<void()> news;                            ///< next_line() or ended() has changed; reader's thread
    };

    /// Looks the program up in PATH. The child keeps our terminal and our process group, so that it can ask for a
    /// password.
    static Result<std::unique_ptr<SshChild>> start(const std::vector<std::string>& command, Callbacks callbacks);
    /// As finish() without patience.
    ~SshChild();
    SshChild(const SshChild&) = delete;
    SshChild& operator=(const SshChild&) = delete;

    Result<void> write(std::string_view text);
    /// Of its standard output.
    [[nodiscard]] std::optional<std::string> next_line();
    /// When the line came that next_line() gave last.
    [[nodiscard]] std::chrono::system_clock::time_point line_came() const;
    /// Its standard output has ended, and all lines of it were taken.
    [[nodiscard]] bool ended() const;
    /// It said more on its standard output than anything that is meant for us; what came beyond is not read.
    [[nodiscard]] bool said_too_much() const;
    /// It has exited, or said that it has nothing more to say.
    [[nodiscard]] bool gone();
    /// Closes its standard input and waits until it exits; asks it to with SIGTERM after `patience`. What a shell would
    /// have in $?. All that it had said has been handed over then.
    int finish(std::chrono::milliseconds patience);

  private:
    struct Pipes {
        UniqueFd in, out, err;  // our ends
    };
    SshChild(pid_t pid, Pipes pipes, UniqueFd stop_read, UniqueFd stop_write, Callbacks callbacks);
    /// The reader's thread.
    void read_all();
    void read_until_stopped();
    [[nodiscard]] bool reap(std::chrono::milliseconds patience);

    pid_t pid_;
    std::optional<int> status_;
    Pipes pipes_;
    UniqueFd stop_read_;
    UniqueFd stop_write_;
    Callbacks callbacks_;

    std::optional<PromptTcp> tcp_;  // until it says a line; reader's thread

    mutable std::mutex mutex_;  // guards what follows
    struct Line {
        std::string text;
        std::chrono::system_clock::time_point came;
    };
    std::deque<Line> lines_;
    std::chrono::system_clock::time_point line_came_;
    std::size_t said_ = 0;  // bytes of lines, and what it takes to hold them
    bool at_end_ = false;

    std::thread reader_;
};

}  // namespace udtx::apps

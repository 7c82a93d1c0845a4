// This process: its descriptors, signals, limits, directories and files.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// The error of a failed system call: "WHAT: Permission denied", with the errno.
[[nodiscard]] Error failed_call(ErrorCode code, const std::string& what, int error_number);

// File descriptors of the process: opens 0, 1 and 2 if they are closed, raises the limit on descriptors, writes a whole
// text.

/// Create it first in main(). It opens /dev/null for each of the descriptors 0 to 2 that the caller had closed.
/// Otherwise the first pipes and sockets of this process would get these numbers, and `-` would read from them.
class StandardDescriptors {
  public:
    StandardDescriptors() noexcept;
    /// True if `fd` was closed when the tool was started.
    [[nodiscard]] bool was_closed(int fd) const noexcept { return closed_[static_cast<std::size_t>(fd)]; }

  private:
    std::array<bool, 3> closed_{};
};

/// Raises the limit on open descriptors as far as the system permits, to at most 16,384. Each served transfer needs
/// several.
void raise_descriptor_limit() noexcept;

/// Appends to `buffer` what can be read at once. False: the input has ended.
[[nodiscard]] bool read_some(int fd, std::string& buffer);
/// Writes all of `text`. Returns 0 or an errno.
[[nodiscard]] int write_all(int fd, std::string_view text) noexcept;

// Small functions for the main functions of both tools.

/// Disables core dumps, because this process's memory holds keys. Builds with assertions keep core dumps.
void forbid_core_dumps() noexcept;
/// Handles std::bad_alloc that a library's noexcept function cannot pass on: prints a message and exits with the code
/// for it (file_io). Otherwise a signal would end the process.
void end_cleanly_without_memory() noexcept;
[[nodiscard]] const char* program_version() noexcept;
/// True if the arguments ask for JSON. Use it for errors that occur before the command line is parsed.
[[nodiscard]] bool wants_json(const std::vector<std::string>& arguments);

// Lets a thread wait for the signals INT, TERM, HUP and XCPU.

/// Create one object per process, before any thread. From then on SIGPIPE and SIGXFSZ are ignored, so a closed pipe or
/// a file above the size limit makes write() fail. SIGUSR1 and SIGUSR2 are ignored too. A signal that the caller of the
/// program ignores stays ignored: nohup does so with HUP, a shell with INT in its background jobs.
class SignalWaiter {
  public:
    /// Timeout for wait() in a thread that must also check for another event.
    static constexpr std::chrono::milliseconds kTurn{100};

    SignalWaiter();
    ~SignalWaiter();
    SignalWaiter(const SignalWaiter&) = delete;
    SignalWaiter& operator=(const SignalWaiter&) = delete;

    /// The next signal. Empty after `timeout` or wake().
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds timeout);
    /// Ends another thread's wait() early.
    void wake();
    /// Readable while wait() would return at once. For poll(2) only.
    [[nodiscard]] int descriptor() const noexcept { return read_end_.get(); }

  private:
    UniqueFd read_end_;
    UniqueFd write_end_;
    std::vector<int> caught_;
};

/// What the signals ask the program to do.
class Interruption {
  public:
    /// A signal within this time after the first one counts as the same request: one Ctrl-C arrives twice if `timeout`
    /// or a script forwards it. Nobody sends a second signal on purpose so soon.
    static constexpr Duration kOneGesture = std::chrono::milliseconds(200);

    enum class Wish {
        wind_up,   ///< the first signal: end in an orderly way
        repeated,  ///< within kOneGesture: repeated_signal() tells the user
        leave,     ///< a later signal: exit at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;
    [[nodiscard]] int signal() const noexcept { return signal_; }  ///< the first signal; 0: none

  private:
    int signal_ = 0;
    Instant first_{};
};

/// Adds the signals that SignalWaiter ignores, so that a child process starts with their default actions.
void restore_ignored(sigset_t& defaults) noexcept;

[[nodiscard]] const char* signal_name(int signal) noexcept;
/// "interrupted by SIGTERM"
[[nodiscard]] std::string interrupted_by(int signal);
/// The message about a signal that counts as a repetition.
[[nodiscard]] std::string repeated_signal(int signal);

// The directory in which running transfers of one user find each other: $XDG_RUNTIME_DIR/udtx, or else /tmp/udtx-UID.

/// Creates the directory with mode 0700 if it is missing. file_io: it cannot be created, or it belongs to another user.
[[nodiscard]] Result<std::string> runtime_directory();

// Network interfaces of this host, for messages about a path's faults.

/// Bytes: the largest IP packet that Ethernet carries.
inline constexpr unsigned kUsualMtu = 1500;

/// An interface of this host. interface_of() finds the one that has the address `local`.
struct LocalInterface {
    std::string name;
    unsigned mtu = 0;
};
[[nodiscard]] std::optional<LocalInterface> interface_of(const Address& local);
/// Addresses of this host that other hosts may reach, without a port: none of the host itself or of one link. At most
/// 32.
[[nodiscard]] std::vector<Address> own_addresses();
/// Empty if the system does not report an MTU.
[[nodiscard]] std::optional<unsigned> mtu_of(const std::string& interface);

// Reads a small file of the user as a whole: lists, keys, receipts.

/// file_io: the file cannot be read, or it is a directory. The message is "cannot read 'NAME': why".
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace udtx::apps

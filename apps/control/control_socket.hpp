// Access to a running transfer: a local socket that reads one line and answers with one. `udtx-send ctl` is its client.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "control/rate_governor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class ControlSocket {
  public:
    /// Answers one line, given without its line end. Runs on the socket's thread. An error is sent to the client as an
    /// error.
    using Handler = std::function<Result<std::string>(const std::string& line)>;

    /// Opens PID.sock in the runtime directory, with mode 0600.
    static Result<std::unique_ptr<ControlSocket>> open(Handler handler);
    ~ControlSocket();
    ControlSocket(const ControlSocket&) = delete;
    ControlSocket& operator=(const ControlSocket&) = delete;

    [[nodiscard]] const std::string& path() const noexcept;

  private:
    class Impl;
    explicit ControlSocket(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Process numbers of this user's running transfers. Removes sockets that killed processes left behind.
[[nodiscard]] Result<std::vector<std::string>> running_transfers();
/// `target` is a process number or the path of a socket. Returns the answer, or the error that the process sent.
[[nodiscard]] Result<std::string> ask_control_socket(const std::string& target, const std::string& line);

// The commands of a control socket: "rate 100M", "rate off", "rate auto", "status", "describe".

/// Functions that report the state of a transfer.
struct ControlStatus {
    std::function<std::string()> json;   ///< one JSON object
    std::function<std::string()> lines;  ///< for users; a tab separates two lines
};
/// `rates` must outlive the handler. Null: this side does not control the cap.
[[nodiscard]] ControlSocket::Handler control_handler(RateGovernor* rates, ControlStatus status);

/// Runs `TOOL ctl PID|SOCKET COMMAND...`. `arguments` excludes the first two words.
[[nodiscard]] ExitCode run_ctl(Log& log, const std::string& tool, std::vector<std::string> arguments);

}  // namespace udtx::apps

// The way into a running transfer: a local socket that takes a line and gives a line. `udtx-send ctl` is its client.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

class ControlSocket {
  public:
    /// To one line, without its end. Called on the socket's thread. An error goes back as such.
    using Handler = std::function<Result<std::string>(const std::string& line)>;

    /// As PID.sock in the runtime directory, mode 0600.
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

/// The process numbers of this user's transfers; what killed ones left behind is removed.
[[nodiscard]] Result<std::vector<std::string>> running_transfers();
/// `target`: a process number, or the path of a socket. Gives the answer, or the error that came back.
[[nodiscard]] Result<std::string> ask_control_socket(const std::string& target, const std::string& line);

}  // namespace udtx::apps

// The remote end of docs/using/ssh.md: what a program that ssh started writes to standard output and reads from
// standard input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/signals.hpp"
#include "ssh/bootstrap_fields.hpp"
#include "udtx/bound_socket.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// The part that every request has.
struct BootstrapRequest {
    Credentials credentials;
    BootstrapFields fields;  ///< the remaining fields
};

/// The address that ssh connected from; empty if it is unknown.
[[nodiscard]] std::string host_of_ssh_client();

class BootstrapChannel {
  public:
    explicit BootstrapChannel(SignalWaiter& signals, int in = 0, int out = 1) : signals_(signals), in_(in), out_(out) {}

    /// Sends the greeting and the port. The other side connects while its request is still on the way; its datagrams
    /// wait in the socket. `arguments`: the words after --bootstrap.
    Result<BoundSocket> open(const std::vector<std::string>& arguments);
    /// Waits for the request.
    Result<BootstrapRequest> await();
    void answer(const BootstrapFields& fields) const;
    /// Reports the error to the other side. Returns the exit code.
    [[nodiscard]] ExitCode refuse(const Error& error) const;
    /// True if ssh has closed standard input: the other side or its ssh connection has ended.
    [[nodiscard]] bool closed();

  private:
    /// False: the input has ended.
    [[nodiscard]] bool read_more();
    [[nodiscard]] std::optional<std::string> next_line();

    SignalWaiter& signals_;
    int in_;
    int out_;
    std::string buffer_;
    bool closed_ = false;
};

}  // namespace udtx::apps

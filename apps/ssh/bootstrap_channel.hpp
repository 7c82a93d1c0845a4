// The far end of docs/using/ssh.md: what a program that ssh started says and hears on its standard output and input.
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

/// What every request has.
struct BootstrapRequest {
    Credentials credentials;
    BootstrapFields fields;  ///< the rest
};

/// Where ssh came from, by its address; empty if that is not known.
[[nodiscard]] std::string host_of_ssh_client();

class BootstrapChannel {
  public:
    explicit BootstrapChannel(SignalWaiter& signals, int in = 0, int out = 1) : signals_(signals), in_(in), out_(out) {}

    /// Greets and names a port. The other side dials it while its request is still on the way: what comes meanwhile
    /// waits in the socket. `arguments`: what came after --bootstrap.
    Result<BoundSocket> open(const std::vector<std::string>& arguments);
    /// Waits for what is asked for.
    Result<BootstrapRequest> await();
    void answer(const BootstrapFields& fields) const;
    /// Tells why not; the code to end with.
    [[nodiscard]] ExitCode refuse(const Error& error) const;
    /// ssh has closed our standard input: the other side has gone, or its ssh connection has.
    [[nodiscard]] bool closed();

  private:
    /// False: nothing more will come.
    [[nodiscard]] bool read_more();
    [[nodiscard]] std::optional<std::string> next_line();

    SignalWaiter& signals_;
    int in_;
    int out_;
    std::string buffer_;
    bool closed_ = false;
};

}  // namespace udtx::apps

// The far end of docs/ssh.md: what a program that ssh started says and hears on its standard output and input.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/bootstrap_fields.hpp"
#include "common/exit_codes.hpp"
#include "common/port_range.hpp"
#include "common/signals.hpp"
#include "io/driver.hpp"
#include "io/resolve.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// What every request has.
struct BootstrapRequest {
    Credentials credentials;
    PortRange ports;
    BootstrapFields fields;  ///< the rest
};

class BootstrapChannel {
  public:
    explicit BootstrapChannel(SignalWatch& signals, int in = 0, int out = 1) : signals_(signals), in_(in), out_(out) {}

    /// Greets and waits for what is asked for.
    Result<BootstrapRequest> open();
    void answer(const BootstrapFields& fields) const;
    /// Tells why not; the code to end with.
    [[nodiscard]] ExitCode refuse(const Error& error) const;
    /// ssh has closed our standard input: the other side has gone, or its ssh connection has.
    [[nodiscard]] bool closed();

  private:
    /// False: nothing more will come.
    [[nodiscard]] bool read_more();
    [[nodiscard]] std::optional<std::string> next_line();

    SignalWatch& signals_;
    int in_;
    int out_;
    std::string buffer_;
    bool closed_ = false;
};

/// Opens the first port that is free, on all addresses of the host. network: none is.
Result<void> open_port(io::Driver& driver, PortRange ports, io::AddressChoice addresses);
/// The address of this host that ssh's connection came to; empty if that is not known.
[[nodiscard]] std::string address_of_ssh();

}  // namespace udtx::apps

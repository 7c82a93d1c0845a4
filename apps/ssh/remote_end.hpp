// The other side of a transfer, started over the user's ssh. Our end of docs/using/ssh.md.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "common/signals.hpp"
#include "common/ssh_target.hpp"
#include "common/terminal.hpp"
#include "options/ssh_options.hpp"
#include "ssh/bootstrap_fields.hpp"
#include "udtx/address.hpp"
#include "udtx/credentials.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// What is started, where and how.
struct RemoteStart {
    std::string program;  ///< "udtx-recv" or "udtx-send"
    const SshTarget& target;
    const SshOptions& options;
    AddressChoice addresses = AddressChoice::any;
    BootstrapFields request;  ///< beside the key
};

/// Lives as long as the transfer: when it goes, the ssh connection does.
class RemoteEnd {
  public:
    /// Blocks until the other side has a port: as long as ssh asks for passwords, if need be. What it makes of the
    /// request is not known by then. The error is one line for the user, in the class that gives the exit code;
    /// interrupted: a signal came.
    static Result<std::unique_ptr<RemoteEnd>> start(RemoteStart start, Log& log, Terminal& terminal,
                                                    SignalWaiter& signals);
    ~RemoteEnd();

    [[nodiscard]] const Credentials& credentials() const noexcept { return credentials_; }
    /// What came with the port.
    [[nodiscard]] const BootstrapFields& reply() const noexcept { return reply_; }
    /// When that came, by the wall clock here.
    [[nodiscard]] std::chrono::system_clock::time_point replied_at() const;
    /// To be dialled in turn.
    [[nodiscard]] const std::vector<Address>& addresses() const noexcept { return addresses_; }
    /// What the other side said to the request, if it has by now. An error: it will not serve it, or has gone without
    /// a word.
    [[nodiscard]] Result<std::optional<BootstrapFields>> answer();
    /// The same, and waits for it a little.
    [[nodiscard]] Result<std::optional<BootstrapFields>> await_answer();
    /// The other side has said by now that datagrams came there.
    [[nodiscard]] bool heard();
    /// The program there has ended, or our ssh has: then its datagrams may still come.
    [[nodiscard]] bool gone();
    /// What to say of it when there was no connection by then.
    [[nodiscard]] Error ended_early() const;
    [[nodiscard]] std::uint16_t port() const noexcept { return addresses_.front().port; }

  private:
    class Dialogue;
    RemoteEnd(std::unique_ptr<Dialogue> dialogue, Credentials credentials, BootstrapFields reply,
              std::vector<Address> addresses);

    std::unique_ptr<Dialogue> dialogue_;
    Credentials credentials_;
    BootstrapFields reply_;
    std::vector<Address> addresses_;
};

/// Which addresses to dial. `resolved`: of the host's name here. `reached`: the address that ssh's connection has at
/// the other side. `proxied`: ssh goes through another host, where the name may mean something else.
[[nodiscard]] std::vector<Address> addresses_to_dial(const std::vector<Address>& resolved,
                                                     const std::optional<Address>& reached, bool proxied);

}  // namespace udtx::apps

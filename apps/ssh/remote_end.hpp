// The other side of a transfer, started over ssh: its command line and its life.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/locations.hpp"
#include "common/log.hpp"
#include "common/process.hpp"
#include "options/common_options.hpp"
#include "ssh/bootstrap.hpp"
#include "ssh/ssh_child.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/credentials.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

// The command lines with which ssh starts the other side.

/// The command that makes the remote shell run `line`.
[[nodiscard]] std::vector<std::string> ssh_command(const SshOptions& options, const SshTarget& target,
                                                   AddressChoice addresses, std::string line, bool may_ask = true);
/// The line with which the remote shell runs `program`, "udtx-send" or "udtx-recv". `rest`: its arguments, quoted for a
/// shell. --remote-bin names a directory, a program of the pair, or a command such as "sudo udtx-recv".
[[nodiscard]] std::string remote_line(const SshOptions& options, const std::string& program, const std::string& rest);
/// The program in messages: as --remote-bin names it, but the right one of the pair.
[[nodiscard]] std::string remote_name(const SshOptions& options, const std::string& program);
/// The error for a program that does not exist on the other side.
[[nodiscard]] std::string not_found(const SshOptions& options, const SshTarget& target, const std::string& program);
/// The command that starts `program` on the other side. It contains no secrets.
[[nodiscard]] std::vector<std::string> remote_command(const SshOptions& options, const SshTarget& target,
                                                      AddressChoice addresses, const std::string& program,
                                                      bool may_ask = true);
/// The command with which the user can test the ssh login.
[[nodiscard]] std::string login_command(const SshOptions& options, const SshTarget& target);
/// The command that asks OpenSSH for the resolved host name and configuration, without connecting.
[[nodiscard]] std::vector<std::string> query_command(const SshOptions& options, const SshTarget& target);

// The other side of a transfer, started over the user's ssh. This is the local end of docs/using/ssh.md.

/// The program to start, where and how.
struct RemoteStart {
    std::string program;  ///< "udtx-recv" or "udtx-send"
    const SshTarget& target;
    const SshOptions& options;
    AddressChoice addresses = AddressChoice::any;
    BootstrapFields request;  ///< all fields except the key
    bool may_ask = true;      ///< false: the login fails if ssh would ask for a password
};

/// It must live as long as the transfer, because its destructor closes the ssh connection.
class RemoteEnd {
  public:
    /// Blocks until the other side has a port, also while ssh asks for passwords. At that time its answer to the
    /// request is still unknown. An error is one line for the user, with the code for the exit; interrupted: a signal
    /// arrived.
    static Result<std::unique_ptr<RemoteEnd>> start(RemoteStart start, Log& log, Terminal& terminal,
                                                    SignalWaiter& signals);
    RemoteEnd(const RemoteEnd&) = delete;
    RemoteEnd& operator=(const RemoteEnd&) = delete;

    [[nodiscard]] const Credentials& credentials() const noexcept { return credentials_; }
    /// The block that contained the port.
    [[nodiscard]] const BootstrapFields& reply() const noexcept { return reply_; }
    /// Time at which that block was complete here, by the local wall clock.
    [[nodiscard]] std::chrono::system_clock::time_point replied_at() const noexcept { return replied_at_; }
    /// Addresses to try in this order.
    [[nodiscard]] const std::vector<Address>& addresses() const noexcept { return addresses_; }
    /// Addresses of its interfaces, to try together if none of addresses() answers.
    [[nodiscard]] const std::vector<Address>& own_addresses() const noexcept { return own_addresses_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return addresses_.front().port; }
    /// The other side's answer to the request (the second block), if it has arrived. An error: the other side refuses,
    /// or has ended without an answer.
    [[nodiscard]] Result<std::optional<BootstrapFields>> answer();
    /// Waits a short time for the answer.
    [[nodiscard]] Result<std::optional<BootstrapFields>> await_answer();
    /// The connection of ssh for datagrams, once the other side has opened it; null: it has not, or it has ended.
    [[nodiscard]] std::shared_ptr<Channel> channel();
    /// True if ssh reaches the host through another one (ProxyJump, ProxyCommand).
    [[nodiscard]] bool proxied() const noexcept { return proxied_; }
    /// True once the other side has reported received datagrams (the third block).
    [[nodiscard]] bool heard();
    /// True if the remote program or the local ssh has ended. If only ssh has, datagrams may still arrive.
    [[nodiscard]] bool gone() { return child_->gone(); }
    /// True if the remote program has ended. If only ssh has lost its connection, the program waits for --linger.
    [[nodiscard]] bool ended();
    /// Its port is closed.
    void note_refused() noexcept { refuses_ = true; }
    /// The error if the program ended before the connection.
    [[nodiscard]] Error ended_early() const;

  private:
    RemoteEnd(const RemoteStart& start, Credentials credentials, Log& log, Terminal& terminal, SignalWaiter& signals);
    /// Waits for the first block: the port.
    Result<BootstrapFields> await_port();
    /// Finds the addresses to connect to.
    Result<void> take_port();
    /// Returns a block if it has arrived. An error: the other side reports why it refuses, or has ended.
    Result<std::optional<BootstrapFields>> next_block();
    /// Takes a line before or in a block. Returns the block that it completes.
    Result<std::optional<BootstrapFields>> take(const std::string& line);
    [[nodiscard]] Error broken(const std::string& what) const;
    /// Runs on the reader's thread of the child.
    void complained(std::string_view line);
    Error explain(int status);

    /// What the other side has sent so far.
    enum class Stage { silent, greeted, has_port, answered, refused, heard };
    static constexpr Step<Stage> kSteps[] = {{Stage::silent, Stage::greeted},
                                             {Stage::greeted, Stage::has_port},
                                             {Stage::has_port, Stage::answered},
                                             {Stage::has_port, Stage::refused},
                                             {Stage::answered, Stage::heard}};

    const SshTarget target_;
    const SshOptions& options_;
    const AddressChoice choice_;
    const std::string program_;
    const std::string name_;  // of the program in messages
    Log& log_;
    Terminal& terminal_;
    SignalWaiter& signals_;
    Credentials credentials_;
    BootstrapFields reply_;
    std::chrono::system_clock::time_point replied_at_;
    std::vector<Address> addresses_;
    std::vector<Address> own_addresses_;
    std::shared_ptr<Channel> channel_;
    BootstrapFieldReader reader_;
    Result<std::optional<BootstrapFields>> answer_{std::nullopt};
    Lifecycle<kSteps> stage_{Stage::silent};
    std::optional<Instant> gone_since_;
    bool refuses_ = false;
    bool proxied_ = false;
    std::atomic<bool> refused_{false};   // ssh's messages show a refusal ...
    std::atomic<bool> ssh_lost_{false};  // ... or that it has lost its connection
    std::unique_ptr<SshChild> child_;    // destroyed first, because its thread calls complained()
};

/// The addresses to connect to. `resolved`: those of the host's name, resolved here. `reached`: the address of ssh's
/// connection at the other side. `proxied`: ssh connects through another host, where the name may resolve differently.
[[nodiscard]] std::vector<Address> addresses_to_try(const std::vector<Address>& resolved,
                                                    const std::optional<Address>& reached, bool proxied);

/// Addresses of the other side's interfaces that are worth trying: none of `addresses`, and no address of this host,
/// because virtual networks have the same addresses on many hosts. At most kMostOwnAddresses.
[[nodiscard]] std::vector<Address> own_addresses_to_try(const std::vector<Address>& told,
                                                        const std::vector<Address>& addresses,
                                                        const std::vector<Interface>& here);
inline constexpr std::size_t kMostOwnAddresses = 8;

}  // namespace udtx::apps

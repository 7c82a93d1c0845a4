// The command lines with which ssh starts the other side.
#pragma once

#include <string>
#include <vector>

#include "common/ssh_target.hpp"
#include "options/ssh_options.hpp"
#include "udtx/resolve.hpp"

namespace udtx::apps {

/// The command that makes the remote shell run `line`.
[[nodiscard]] std::vector<std::string> ssh_command(const SshOptions& options, const SshTarget& target,
                                                   AddressChoice addresses, std::string line);
/// The line with which the remote shell runs `program`, "udtx-send" or "udtx-recv". `rest`: its arguments, quoted for a
/// shell. --remote-bin names a directory, a program of the pair, or a command such as "sudo udtx-recv".
[[nodiscard]] std::string remote_line(const SshOptions& options, const std::string& program, const std::string& rest);
/// The program in messages: as --remote-bin names it, but the right one of the pair.
[[nodiscard]] std::string remote_name(const SshOptions& options, const std::string& program);
/// The error for a program that does not exist on the other side.
[[nodiscard]] std::string not_found(const SshOptions& options, const SshTarget& target, const std::string& program);
/// The command that starts `program` on the other side. It contains no secrets.
[[nodiscard]] std::vector<std::string> remote_command(const SshOptions& options, const SshTarget& target,
                                                      AddressChoice addresses, const std::string& program);
/// The command with which the user can test the ssh login.
[[nodiscard]] std::string login_command(const SshOptions& options, const SshTarget& target);
/// The command that asks OpenSSH for the resolved host name and configuration, without connecting.
[[nodiscard]] std::vector<std::string> query_command(const SshOptions& options, const SshTarget& target);

}  // namespace udtx::apps

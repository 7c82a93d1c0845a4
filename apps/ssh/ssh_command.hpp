// The command lines by which ssh starts the other side.
#pragma once

#include <string>
#include <vector>

#include "common/ssh_target.hpp"
#include "options/ssh_options.hpp"
#include "udtx/resolve.hpp"

namespace udtx::apps {

/// What has the shell at the other side run `line`.
[[nodiscard]] std::vector<std::string> ssh_command(const SshOptions& options, const SshTarget& target,
                                                   AddressChoice addresses, std::string line);
/// What starts `program` at the other side. Nothing secret is in it.
[[nodiscard]] std::vector<std::string> remote_command(const SshOptions& options, const SshTarget& target,
                                                      AddressChoice addresses, const std::string& program);
/// What the user may type to see for himself how ssh fares.
[[nodiscard]] std::string login_command(const SshOptions& options, const SshTarget& target);
/// Asks OpenSSH what it makes of host name and configuration, without connecting.
[[nodiscard]] std::vector<std::string> query_command(const SshOptions& options, const SshTarget& target);

}  // namespace udtx::apps

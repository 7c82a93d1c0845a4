// Prepares a receiver: its directories and keys.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "options/recv_command.hpp"
#include "sandbox/sandbox.hpp"
#include "serve/authorized_keys.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// The directory that a key with these rights writes to.
[[nodiscard]] std::string directory_of(const RecvCommand& command, const KeyRights& rights);
/// Loads the credentials. Fills `keys` if clients have their own keys.
[[nodiscard]] Result<Credentials> receiver_credentials(const RecvCommand& command, AuthorizedKeys& keys);
/// The places that a receiver writes to: the directories of keys with the right to write, and files of its own flags.
[[nodiscard]] SandboxPlaces places_of(const RecvCommand& command, const AuthorizedKeys& keys);

/// Remembers directories as they were when the sandbox was set up. A file system mounted over one later is not covered
/// by the sandbox's rules.
class KnownPlaces {
  public:
    void note(const std::vector<std::string>& directories);
    /// refused: the name now leads to another directory, or lies outside of all of them.
    [[nodiscard]] Result<void> check(const std::string& directory) const;

  private:
    bool noted_ = false;
    std::map<std::string, std::pair<dev_t, ino_t>> known_;
};

}  // namespace udtx::apps

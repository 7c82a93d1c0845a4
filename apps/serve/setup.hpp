// What a receiver needs before it serves: directories and keys.
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

/// Where those with such rights write to.
[[nodiscard]] std::string directory_of(const RecvCommand& command, const KeyRights& rights);
/// Fills `keys` where senders have keys of their own.
[[nodiscard]] Result<Credentials> receiver_credentials(const RecvCommand& command, AuthorizedKeys& keys);
/// Where a receiver writes: below the directories of those who may, and what else it was told to keep.
[[nodiscard]] SandboxPlaces places_of(const RecvCommand& command, const AuthorizedKeys& keys);

/// Directories as they were when the sandbox was told of them: what is mounted over one later is none of its places.
class KnownPlaces {
  public:
    void note(const std::vector<std::string>& directories);
    /// refused: another one stands under its name.
    [[nodiscard]] Result<void> check(const std::string& directory) const;

  private:
    std::map<std::string, std::pair<dev_t, ino_t>> known_;
};

}  // namespace udtx::apps

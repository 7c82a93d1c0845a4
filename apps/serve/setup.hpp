// What a receiver needs before it serves: directories, keys, socket.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/driver.hpp"
#include "options/recv_command.hpp"
#include "sandbox/sandbox.hpp"
#include "serve/authorized_keys.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// file_io: it is not there, no directory, or cannot be read or, where `write` says so, written.
[[nodiscard]] Result<void> check_directory(const std::string& directory, bool write);
/// Where those with such rights write to.
[[nodiscard]] std::string directory_of(const RecvCommand& command, const KeyRights& rights);
/// Fills `keys` where senders have keys of their own.
[[nodiscard]] Result<Credentials> receiver_credentials(const RecvCommand& command, AuthorizedKeys& keys);
/// Where a receiver writes: below the directories of those who may, and what else it was told to keep.
[[nodiscard]] SandboxPlaces places_of(const RecvCommand& command, const AuthorizedKeys& keys);
/// The socket to listen on: the first address of the name on which one can be opened, or the one that was inherited.
[[nodiscard]] Result<void> open_socket(io::Driver& driver, const RecvCommand& command);

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

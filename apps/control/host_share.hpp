// One rate for all transfers of a user on this host (--host-rate): each takes an equal share. A transfer is a file that
// its process holds a lock on; the lock ends with the process, however that ends.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class HostShare {
  public:
    /// Is counted from now on by the others whose table is this directory.
    static Result<std::unique_ptr<HostShare>> join(const std::string& directory);
    ~HostShare();
    HostShare(const HostShare&) = delete;
    HostShare& operator=(const HostShare&) = delete;

    /// Transfers under way, this one included. Removes the files of dead ones.
    [[nodiscard]] std::size_t count() const;

  private:
    HostShare(std::string directory, std::string name, UniqueFd lock);
    std::string directory_;
    std::string name_;
    UniqueFd lock_;
};

}  // namespace udtx::apps

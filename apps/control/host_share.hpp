// Shares one rate among all transfers of a user on this host (--host-rate): each transfer takes an equal part. Each
// transfer has a file that its process locks. The lock ends with the process, also after a crash.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class HostShare {
  public:
    /// From now on the other transfers that use this directory count this one.
    static Result<std::unique_ptr<HostShare>> join(const std::string& directory);
    ~HostShare();
    HostShare(const HostShare&) = delete;
    HostShare& operator=(const HostShare&) = delete;

    /// Number of running transfers, including this one. Removes the files of ended processes.
    [[nodiscard]] std::size_t count() const;

  private:
    HostShare(std::string directory, std::string name, UniqueFd lock);
    std::string directory_;
    std::string name_;
    UniqueFd lock_;
};

}  // namespace udtx::apps

// Directories whose mode denies their own owner access (0555): the owner may add the rights.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace udtx::transfer {

/// Called with the permission bits before they are changed.
using BeforeOpening = std::function<void(std::uint32_t mode)>;

/// Gives the owner all rights to the directory `name` in `parent`, if some are missing and the directory is ours. 0 or
/// an errno; `before` gets the earlier permission bits.
int open_up_directory(
    int parent, const std::string& name, std::uint32_t& before, const BeforeOpening& about_to = [](std::uint32_t) {});
/// The same by descriptor; returns the earlier permission bits. nullopt: the directory is not ours, or the owner has
/// all rights.
[[nodiscard]] std::optional<std::uint32_t> open_up(int directory);

/// Gives the owner all rights for the lifetime of this object.
class BriefRights {
  public:
    explicit BriefRights(int directory) : directory_(directory), before_(open_up(directory)) {}
    ~BriefRights();
    BriefRights(const BriefRights&) = delete;
    BriefRights& operator=(const BriefRights&) = delete;

  private:
    int directory_;
    std::optional<std::uint32_t> before_;
};

/// True if the umask takes rights of the owner away from what is made, or if that is unknown.
[[nodiscard]] bool may_umask_bar_owner();

/// Removes a file of ours, even from a directory that denies its owner write access.
void remove_from(int directory, const std::string& name);

}  // namespace udtx::transfer

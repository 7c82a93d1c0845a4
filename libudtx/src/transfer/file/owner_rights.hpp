// Directories that bar their own owner from working in them (0555): the owner may open them up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace udtx::transfer {

/// Called with the permission bits before they are changed.
using BeforeOpening = std::function<void(std::uint32_t mode)>;

/// Gives the owner all rights to the directory `name` in `parent`, where they are missing and it is ours. 0 or an
/// errno; `before` gets the permission bits that it had.
int open_up_directory(
    int parent, const std::string& name, std::uint32_t& before, const BeforeOpening& about_to = [](std::uint32_t) {});
/// The same by descriptor. None: it is not ours, or has them.
[[nodiscard]] std::optional<std::uint32_t> open_up(int directory);

/// The same for a short while.
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

/// Removes a file of ours, also from a directory that bars its owner.
void remove_from(int directory, const std::string& name);

}  // namespace udtx::transfer

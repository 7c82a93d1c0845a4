// Directories that confine paths to what is below them, also such that deny their own owner access.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// Directories whose mode denies their own owner access (0555): the owner may add the rights.

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

// A directory that confines paths to what is below it: no `..`, no absolute path, no symbolic link in the path or at
// its end. On Linux it uses openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS. If the kernel lacks openat2, it uses
// one openat(O_NOFOLLOW) for each component.

/// A descriptor, or none and the errno.
struct OpenedFd {
    UniqueFd fd{};
    int error = 0;
};

class ConfinedDir {
  public:
    enum class Resolve { best, by_component };  ///< by_component: the fallback, for tests

    /// The user chose this directory, so its path may contain symbolic links.
    static Result<ConfinedDir> open(const std::string& path, Resolve resolve = Resolve::best);
    /// Confines to the directory `below`, relative to `path` ("": `path` itself). Symbolic links in `below` are not
    /// followed.
    static Result<ConfinedDir> open_below(const std::string& path, std::string_view below);

    /// Creates the missing directories of `path` (mode 0777 and the umask) and confines to the last one.
    [[nodiscard]] Result<ConfinedDir> make_subdirectory(std::string_view path) const;

    /// Confines to an existing directory.
    [[nodiscard]] Result<ConfinedDir> subdirectory(std::string_view path) const;

    /// `path` is relative; "" is the directory itself.
    [[nodiscard]] OpenedFd open_at(std::string_view path, int flags, mode_t mode = 0) const;
    [[nodiscard]] OpenedFd open_directory(std::string_view path) const { return open_at(path, O_RDONLY | O_DIRECTORY); }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    ConfinedDir(UniqueFd fd, Resolve resolve) : fd_(std::move(fd)), resolve_(resolve) {}
    [[nodiscard]] OpenedFd open_by_component(std::string_view path, int flags, mode_t mode) const;

    UniqueFd fd_;
    Resolve resolve_;
};

/// "a/b/c" -> {"a/b", "c"}; "c" -> {"", "c"}.
struct SplitName {
    std::string directory;
    std::string leaf;
};
[[nodiscard]] SplitName split_leaf(std::string_view path);

}  // namespace udtx::transfer

// A directory from which no path leads out: no `..`, no absolute path, no symbolic link on the way or at the end.
// Linux: openat2 with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS; where the kernel lacks it, one openat(O_NOFOLLOW) for
// each component.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <string>
#include <string_view>

#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

class ConfinedDir {
  public:
    enum class Resolve { best, by_component };  ///< by_component: the fallback, for tests

    /// The directory itself is the user's choice and may be reached over links.
    static Result<ConfinedDir> open(const std::string& path, Resolve resolve = Resolve::best);
    /// The same, confined to what is `below` it ("": itself): no link on that way is followed.
    static Result<ConfinedDir> open_below(const std::string& path, std::string_view below);

    /// Makes the directories of `path` that are missing (0777 and the umask) and confines to the last of them.
    [[nodiscard]] Result<ConfinedDir> make_subdirectory(std::string_view path) const;

    /// Confines to a directory that is there.
    [[nodiscard]] Result<ConfinedDir> subdirectory(std::string_view path) const;

    /// `path` is relative; "" is the directory itself. The descriptor, or none and errno in `error`.
    [[nodiscard]] UniqueFd open_at(std::string_view path, int flags, mode_t mode, int& error) const;
    [[nodiscard]] UniqueFd open_directory(std::string_view path, int& error) const;
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  private:
    ConfinedDir(UniqueFd fd, Resolve resolve) : fd_(std::move(fd)), resolve_(resolve) {}
    [[nodiscard]] UniqueFd open_by_component(std::string_view path, int flags, mode_t mode, int& error) const;

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

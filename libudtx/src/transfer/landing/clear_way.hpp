// Puts an incoming entry in the place of a directory, by rsync's rules: a file, a link or an empty directory is always
// replaced, a directory with entries only with --delete. The directory loses nothing before the entry has its name.
#pragma once

#include <functional>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/eraser.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Says whether an incoming file or link may take the name `path`. `eraser`: deletes the entries of a directory there
/// (null: nothing may be deleted). Changes nothing. refused: the directory must stay.
[[nodiscard]] Result<void> check_way(const ConfinedDir& root, const std::string& path, Eraser* eraser);

/// Deletes a directory that is called `leaf` in `parent`. `some`: it reports itself what could not be deleted.
using DeleteReplaced = std::function<Cleared(int parent, const std::string& leaf)>;

/// Gives `from` the name of the directory `to`, and then deletes the directory. Returns 0 or an errno. After an error,
/// the directory has its name again and all its entries.
[[nodiscard]] int replace_directory(int parent, const std::string& from, const std::string& to,
                                    const DeleteReplaced& remove);

}  // namespace udtx::transfer

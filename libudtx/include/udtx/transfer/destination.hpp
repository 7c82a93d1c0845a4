// Finds where a fetch stores files, by the rules of scp and cp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// Shape of sources that exist on this host.
[[nodiscard]] UDTX_EXPORT SourceShape shape_of(const std::vector<std::string>& sources);
/// Names that the sources get at the destination. Empty if a name cannot be known, or if there are more than 256.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> names_of(const std::vector<std::string>& sources);

/// Where a fetch stores files.
struct LandingPlace {
    std::string directory;  ///< existing, writable directory; empty: a dry run, and the directory does not exist
    std::string rename;     ///< new name of the only source; empty: its own name
};

/// Finds the place, and creates directories where needed. The sources go into `destination` if it is a directory. If it
/// does not exist and ends in '/', it is created with all its parents. Any other missing destination is the new name of
/// the only source. A run that continues `transfer` uses the place of the earlier run. file_io: the place cannot be
/// used.
[[nodiscard]] UDTX_EXPORT Result<LandingPlace> find_landing(const std::string& destination, SourceShape shape,
                                                            std::uint64_t transfer, bool dry_run = false);

/// True if the destination contains nothing under `names`, and nothing that a run of `transfer` has left. Call it
/// before find_landing(). Empty `names` mean that the names to come are unknown.
[[nodiscard]] UDTX_EXPORT bool is_fresh(const std::string& destination, const std::vector<std::string>& names,
                                        std::uint64_t transfer);

}  // namespace udtx::transfer

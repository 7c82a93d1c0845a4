// Where a fetch puts files, by the rules of scp and cp.
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
/// Names that the sources get at the destination; none if that cannot be told, or there are more than 256.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> names_of(const std::vector<std::string>& sources);

/// Where files go.
struct LandingPlace {
    std::string directory;  ///< exists and can be written; empty: a dry run, and the directory does not exist
    std::string rename;     ///< new name of the one source; empty: its own
};

/// Finds the place, and makes directories where needed. An existing directory takes the sources. A destination that
/// ends in '/' is made, with all directories above it. Any other one that does not exist is the new name of the one
/// source. A run that continues `transfer` goes where that began. file_io: there is no such place.
[[nodiscard]] UDTX_EXPORT Result<LandingPlace> find_landing(const std::string& destination, SourceShape shape,
                                                            std::uint64_t transfer, bool dry_run = false);

/// Whether the destination holds nothing under `names` and nothing that a run of `transfer` has left. Call it before
/// find_landing(). Empty `names`: what comes is not known.
[[nodiscard]] UDTX_EXPORT bool is_fresh(const std::string& destination, const std::vector<std::string>& names,
                                        std::uint64_t transfer);

}  // namespace udtx::transfer

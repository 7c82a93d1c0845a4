// Where things land that come to a destination as scp and cp take it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// What sources that exist on this host amount to.
[[nodiscard]] UDTX_EXPORT SourceShape shape_of(const std::vector<std::string>& sources);
/// What sources bring, at the top of what takes them; none if that is not known.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> names_of(const std::vector<std::string>& sources);

struct LandingPlace {
    std::string directory;  ///< exists, and can be written; empty: only a dry run would have it made
    std::string rename;     ///< the one thing that comes gets this name; empty: it keeps its own
};

/// An existing directory takes what comes; one that ends in '/' is made, with all above it; what does not exist becomes
/// the new name of the one thing that comes. A run that continues `transfer` lands where that began, although the
/// destination exists by now. file_io: nothing can land there.
[[nodiscard]] UDTX_EXPORT Result<LandingPlace> find_landing(const std::string& destination, SourceShape shape,
                                                            std::uint64_t transfer, bool dry_run = false);

/// Before find_landing(): nothing stands there by one of `names`, and no run of `transfer` has left anything. No names:
/// what comes is not known.
[[nodiscard]] UDTX_EXPORT bool is_fresh(const std::string& destination, const std::vector<std::string>& names,
                                        std::uint64_t transfer);

}  // namespace udtx::transfer

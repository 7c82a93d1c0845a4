// A transfer of a tree into a directory.
#pragma once

#include <memory>

#include "transfer/landing/landing.hpp"

namespace udtx::transfer {

/// Writes a tree below `base`, which outlives it, as the offer says.
[[nodiscard]] std::unique_ptr<Landing> land_tree(const ConfinedDir& base, const message::Offer& offer,
                                                 const TreeRights& rights, const LandingLinks& links);

}  // namespace udtx::transfer

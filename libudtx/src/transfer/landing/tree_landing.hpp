// Receives a tree into a directory.
#pragma once

#include <memory>

#include "transfer/landing/landing.hpp"

namespace udtx::transfer {

/// Writes a tree below `base`, as the offer says. `base` must outlive the landing.
[[nodiscard]] std::unique_ptr<Landing> land_tree(const ConfinedDir& base, const message::Offer& offer,
                                                 const TreeRights& rights, const LandingLinks& links);

}  // namespace udtx::transfer

// A dry run at the receiver: it reports what would happen to each entry, and changes nothing.
#pragma once

#include <memory>

#include "transfer/landing/landing.hpp"

namespace udtx::transfer {

/// `base`: null if the directory does not exist.
[[nodiscard]] std::unique_ptr<Landing> land_nowhere(const ConfinedDir* base, const message::Offer& offer,
                                                    const TreeRights& rights, const LandingLinks& links);

}  // namespace udtx::transfer

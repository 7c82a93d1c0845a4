// A dry run at the receiver: it says what would become of each entry, and touches nothing.
#pragma once

#include <memory>

#include "transfer/landing/landing.hpp"

namespace udtx::transfer {

/// `base`: null if there is no such directory.
[[nodiscard]] std::unique_ptr<Landing> land_nowhere(const ConfinedDir* base, const message::Offer& offer,
                                                    const TreeRights& rights, const LandingLinks& links);

}  // namespace udtx::transfer

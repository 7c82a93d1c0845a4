// One stream of bytes that is written as it comes, or dropped.
#pragma once

#include <memory>

#include "transfer/landing/landing.hpp"
#include "transfer/stop_event.hpp"

namespace udtx::transfer {

/// To the file that the offer names; refuses it if something stands there that is to stay.
[[nodiscard]] std::unique_ptr<Landing> land_file(const ConfinedDir& base, const message::Offer& offer,
                                                 const TreeRights& rights, const LandingLinks& links);
/// To a descriptor; waits for whoever reads it, until `stop`, which outlives it.
[[nodiscard]] std::unique_ptr<Landing> land_pipe(int fd, const message::Offer& offer, const StopEvent& stop,
                                                 const LandingLinks& links);
/// Drops it: the sender measures the line.
[[nodiscard]] std::unique_ptr<Landing> land_probe(const LandingLinks& links);

}  // namespace udtx::transfer

// Receives one stream of bytes and writes it in order, or drops it.
#pragma once

#include <memory>

#include "transfer/disk_pool.hpp"
#include "transfer/landing/landing.hpp"

namespace udtx::transfer {

/// Writes the stream to the file that the offer names. Refuses it if an existing entry must stay.
[[nodiscard]] std::unique_ptr<Landing> land_file(const ConfinedDir& base, const message::Offer& offer,
                                                 const TreeRights& rights, const LandingLinks& links);
/// Writes the stream to a descriptor and waits for its reader until `stop`, which must outlive the landing.
[[nodiscard]] std::unique_ptr<Landing> land_pipe(int fd, const message::Offer& offer, const StopEvent& stop,
                                                 const LandingLinks& links);
/// Drops the stream: the sender measures the path.
[[nodiscard]] std::unique_ptr<Landing> land_probe(const LandingLinks& links);

}  // namespace udtx::transfer

// Passes what earlier connections measured to new ones.
#pragma once

#include "udtx/core/connection.hpp"
#include "udtx/ids.hpp"
#include "udtx/known_paths.hpp"
#include "udtx/rate.hpp"

namespace udtx::io {

/// Passes on what is known of an open path. Call it once the handshake has finished, and for each new path. Without a
/// key of the peer it does nothing.
void recall_path(KnownPaths& from, proto::Connection& connection, PathId id, Instant now);
/// Adds what the connection measured. Call it at its end.
void note_paths(KnownPaths& to, const proto::Connection& connection);

}  // namespace udtx::io

// Log lines about the paths of a connection.
#pragma once

#include <string>

#include "udtx/core/event.hpp"
#include "udtx/log.hpp"

namespace udtx::io {

/// Logs one line if the event is about a path. `whose`: the prefix of each line. `several`: a line about a new address
/// of the peer names the path's number.
void log_paths(const LogSink& log, const std::string& whose, bool several, const proto::Event& event);

}  // namespace udtx::io

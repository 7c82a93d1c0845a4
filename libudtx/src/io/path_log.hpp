// What a log is told of the paths of a connection.
#pragma once

#include <string>

#include "udtx/core/event.hpp"
#include "udtx/log.hpp"

namespace udtx::io {

/// One line where the event is about a path, else none. `whose`: what each line begins with. `several`: paths have
/// numbers there.
void log_paths(const LogSink& log, const std::string& whose, bool several, const proto::Event& event);

}  // namespace udtx::io

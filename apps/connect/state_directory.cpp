#include "connect/state_directory.hpp"

#include <unistd.h>

#include <cstdlib>

namespace udtx::apps {

std::string state_directory() {
    const char* const state = std::getenv("XDG_STATE_HOME");  // NOLINT(concurrency-mt-unsafe)
    if (state != nullptr && *state == '/') return std::string(state) + "/udtx";
    const char* const home = std::getenv("HOME");                                     // NOLINT(concurrency-mt-unsafe)
    const bool there = home != nullptr && *home == '/' && ::access(home, X_OK) == 0;  // nobody's does not exist
    return there ? std::string(home) + "/.local/state/udtx" : std::string();
}

}  // namespace udtx::apps

#include "common/process.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>

#include <algorithm>

namespace udtx::apps {

void forbid_core_dumps() noexcept {
#ifdef NDEBUG
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    // A handler that dumps are piped to does not ask for the limit. It also keeps other programs of the user out.
    ::prctl(PR_SET_DUMPABLE, 0);
#endif
#endif
}

const char* program_version() noexcept { return UDTX_VERSION; }

bool wants_json(const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::any_of(arguments.begin(), end, [](const auto& a) { return a == "--json" || a == "--json-stream"; });
}

}  // namespace udtx::apps

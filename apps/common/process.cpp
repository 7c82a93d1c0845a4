#include "common/process.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "common/exit_codes.hpp"

namespace udtx::apps {

void forbid_core_dumps() noexcept {
#ifdef NDEBUG
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    // The core limit does not apply if the system pipes dumps to a handler. This call also stops the user's other
    // programs from reading this process's memory.
    ::prctl(PR_SET_DUMPABLE, 0);
#endif
#endif
}

void end_cleanly_without_memory() noexcept {
    // current_exception() can be empty if the compiler inlined the noexcept function into its caller. Therefore this
    // flag records the failed allocation.
    static thread_local bool none_left = false;
    std::set_new_handler([] {
        none_left = true;
        throw std::bad_alloc();
    });
    std::set_terminate([] {
        try {
            if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
            if (none_left) throw std::bad_alloc();
        } catch (const std::bad_alloc&) {
            constexpr std::string_view kText = "out of memory\n";
            [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kText.data(), kText.size());
            std::_Exit(static_cast<int>(ExitCode::file_io));
        } catch (...) {
            // An error of this program: abort as usual.
        }
        std::abort();
    });
}

const char* program_version() noexcept { return UDTX_VERSION; }

bool wants_json(const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::any_of(arguments.begin(), end, [](const auto& a) { return a == "--json" || a == "--json-stream"; });
}

}  // namespace udtx::apps

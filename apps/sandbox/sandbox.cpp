#include "sandbox/sandbox.hpp"

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "sandbox/call_filter.hpp"
#include "sandbox/landlock.hpp"

namespace udtx::apps {
namespace {

/// Instrumented builds write their own reports to configured places, so `automatic` gives them no sandbox.
#ifdef UDTX_INSTRUMENTED
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

/// Started programs get no more rights than their parent. Without this, an ordinary user may not install a filter.
bool give_up_new_rights() {
#ifdef __linux__
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
#else
    return false;
#endif
}

Result<std::vector<PlaceLeftOut>> keep_to(const SandboxPlaces& places) {
    const int version = landlock_version();
    if (version < kLeastLandlock) {
        return Error{
            ErrorCode::file_io,
            "this system has no Landlock: it needs Linux 5.19 or later, and Landlock in its list of security modules"};
    }
    return enter_landlock(version, places);
}

}  // namespace

Result<SandboxMode> parse_sandbox_mode(std::string_view text) {
    if (text == "auto") return SandboxMode::automatic;
    if (text == "on") return SandboxMode::on;
    if (text == "off") return SandboxMode::off;
    return Error{ErrorCode::invalid_argument, "--sandbox: '" + std::string(text) + "' is unknown; use auto, on or off"};
}

Result<Sandbox> enter_sandbox(SandboxMode mode, const SandboxPlaces& places) {
    if (mode == SandboxMode::off) return Sandbox{"no sandbox: --sandbox off"};
    if (mode == SandboxMode::automatic && kInstrumented) return Sandbox{"no sandbox: an instrumented build"};
    if (!give_up_new_rights()) {
        if (mode == SandboxMode::on) return Error{ErrorCode::file_io, "--sandbox on: this system has no sandbox"};
        return Sandbox{"no sandbox: this system has none"};
    }
    // Landlock comes first, because it handles files by name. The filter distinguishes only calls.
    const auto kept = keep_to(places);
    const auto filtered = enter_call_filter();
    for (const Error* failed : {kept ? nullptr : &kept.error(), filtered ? nullptr : &filtered.error()}) {
        if (failed != nullptr && mode == SandboxMode::on)
            return Error{failed->code, "--sandbox on: " + failed->message};
    }
    const std::string files =
        kept ? "writes below its directories only" : "writes anywhere (" + kept.error().message + ")";
    const std::string calls = filtered ? "starts no programs" : "starts programs (" + filtered.error().message + ")";
    return Sandbox{"sandbox: " + files + "; " + calls, !kept && landlock_version() >= kLeastLandlock,
                   kept ? *kept : std::vector<PlaceLeftOut>(), static_cast<bool>(kept), static_cast<bool>(filtered)};
}

Result<void> seal_sandbox(SandboxMode mode, const Sandbox& sandbox) {
    if (!sandbox.filtered) return {};
    const auto sealed = refuse_local_sockets();
    if (sealed || mode != SandboxMode::on) return {};
    return Error{sealed.error().code, "--sandbox on: " + sealed.error().message};
}

}  // namespace udtx::apps

#include "common/exit_codes.hpp"

#include <algorithm>
#include <array>

namespace udtx::apps {
namespace {

struct Text {
    ExitCode code;
    std::string_view name;
    std::string_view meaning;
    ErrorCode error;  ///< of another udtx process that ended with the code
};

constexpr std::array<Text, 12> kTexts{{
    {ExitCode::ok, "ok", "success", ErrorCode::protocol},
    {ExitCode::usage, "usage", "wrong command line", ErrorCode::invalid_argument},
    {ExitCode::network, "network", "network error", ErrorCode::network},
    {ExitCode::file_io, "file_io", "a file cannot be read or written", ErrorCode::file_io},
    {ExitCode::protocol, "protocol", "protocol error", ErrorCode::protocol},
    {ExitCode::superseded, "superseded", "a newer run of the same transfer took over", ErrorCode::superseded},
    {ExitCode::partial, "partial", "partial: some entries were not transferred", ErrorCode::partial},
    {ExitCode::timeout, "timeout", "timeout", ErrorCode::timeout},
    {ExitCode::authentication, "authentication", "authentication failed", ErrorCode::authentication},
    {ExitCode::integrity, "integrity", "data is damaged or differs", ErrorCode::integrity},
    {ExitCode::udp_blocked, "udp_blocked", "UDP is blocked", ErrorCode::udp_blocked},
    {ExitCode::interrupted, "interrupted", "interrupted", ErrorCode::interrupted},
}};
constexpr Text kUnknown{
    .code = ExitCode::protocol, .name = "unknown", .meaning = "unknown", .error = ErrorCode::protocol};

const Text& text_of(ExitCode code) noexcept {
    const auto* const found =
        std::find_if(kTexts.begin(), kTexts.end(), [&](const Text& text) { return text.code == code; });
    return found == kTexts.end() ? kUnknown : *found;
}

}  // namespace

ExitCode exit_code_for(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
            return ExitCode::usage;
        case ErrorCode::malformed:
        case ErrorCode::protocol:
        case ErrorCode::internal:
            return ExitCode::protocol;
        case ErrorCode::authentication:
            return ExitCode::authentication;
        case ErrorCode::network:
        case ErrorCode::no_route:
        case ErrorCode::no_resources:
            return ExitCode::network;
        case ErrorCode::udp_blocked:
            return ExitCode::udp_blocked;
        case ErrorCode::timeout:
            return ExitCode::timeout;
        case ErrorCode::refused:  // the receiver refuses a name, a place or a kind of transfer
        case ErrorCode::file_io:
            return ExitCode::file_io;
        case ErrorCode::superseded:
            return ExitCode::superseded;
        case ErrorCode::integrity:
            return ExitCode::integrity;
        case ErrorCode::partial:
        case ErrorCode::changed:
        case ErrorCode::not_sent:
            return ExitCode::partial;
        case ErrorCode::interrupted:
        case ErrorCode::cancelled:
        case ErrorCode::going_away:
            return ExitCode::interrupted;
    }
    return ExitCode::protocol;
}

ErrorCode error_code_for(ExitCode code) noexcept { return text_of(code).error; }

std::string_view to_string(ExitCode code) noexcept { return text_of(code).name; }

std::string_view meaning_of(ExitCode code) noexcept { return text_of(code).meaning; }

}  // namespace udtx::apps

#include "transfer/close_codes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "wire/frame.hpp"

namespace udtx::transfer {

CloseCode close_code_for(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::malformed:
        case ErrorCode::protocol:
            return CloseCode::protocol;
        case ErrorCode::authentication:
            return CloseCode::authentication;
        case ErrorCode::invalid_argument:
        case ErrorCode::refused:
            return CloseCode::refused;
        case ErrorCode::file_io:
            return CloseCode::file_io;
        case ErrorCode::integrity:
            return CloseCode::integrity;
        case ErrorCode::network:
        case ErrorCode::no_route:
        case ErrorCode::udp_blocked:
        case ErrorCode::timeout:
            return CloseCode::timeout;
        case ErrorCode::interrupted:
        case ErrorCode::cancelled:
            return CloseCode::interrupted;
        case ErrorCode::partial:
        case ErrorCode::internal:
            return CloseCode::internal;
        case ErrorCode::superseded:
            return CloseCode::superseded;
        case ErrorCode::going_away:
            return CloseCode::going_away;
    }
    return CloseCode::internal;
}

ErrorCode error_code_for(std::uint64_t wire_code) noexcept {
    switch (static_cast<CloseCode>(wire_code)) {
        case CloseCode::interrupted:
            return ErrorCode::interrupted;
        case CloseCode::refused:
            return ErrorCode::refused;
        case CloseCode::file_io:
            return ErrorCode::file_io;
        case CloseCode::integrity:
            return ErrorCode::integrity;
        case CloseCode::timeout:
            return ErrorCode::timeout;
        case CloseCode::internal:
            return ErrorCode::internal;
        case CloseCode::superseded:
            return ErrorCode::superseded;
        case CloseCode::authentication:
            return ErrorCode::authentication;
        case CloseCode::going_away:
            return ErrorCode::going_away;
        case CloseCode::done:
        case CloseCode::protocol:
            break;
    }
    return ErrorCode::protocol;
}

std::string last_counters(const std::vector<SenderPath>& paths) {
    std::string out;
    for (const SenderPath& path : paths) {
        out += std::to_string(path.id.value) + ' ' + std::to_string(path.sent_packets) + ' ' +
               std::to_string(path.lost_packets) + ' ' + std::to_string(path.retransmitted_packets) + ';';
    }
    return out.size() <= wire::kMaxCloseReason ? out : std::string();
}

void take_last_counters(std::string_view reason, std::vector<SenderPath>& paths) {
    std::vector<SenderPath> all = paths;
    const char* at = reason.data();
    const char* const end = at + reason.size();
    while (at != end) {
        std::array<std::uint64_t, 4> numbers{};
        for (std::uint64_t& number : numbers) {
            const auto [next, error] = std::from_chars(at, end, number);
            const char separator = &number == &numbers.back() ? ';' : ' ';
            if (error != std::errc() || next == end || *next != separator) return;
            at = next + 1;
        }
        const auto [id, sent, lost, again] = numbers;
        if (id > std::numeric_limits<decltype(PathId::value)>::max()) return;
        const PathId path{static_cast<decltype(PathId::value)>(id)};
        auto known = std::ranges::find(all, path, &SenderPath::id);
        if (known == all.end()) {
            all.emplace_back().id = path;
            known = all.end() - 1;
        }
        known->sent_packets = sent;
        known->lost_packets = lost;
        known->retransmitted_packets = again;
    }
    paths = std::move(all);
}

}  // namespace udtx::transfer

#include "transfer/close_codes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "transfer/names.hpp"
#include "wire/frame.hpp"

namespace udtx::transfer {

namespace {

/// The first line of a CloseCode is what the peer's code means here.
constexpr std::array<std::pair<ErrorCode, CloseCode>, 20> kCloseCodes{
    {{ErrorCode::protocol, CloseCode::protocol},
     {ErrorCode::malformed, CloseCode::protocol},
     {ErrorCode::authentication, CloseCode::authentication},
     {ErrorCode::refused, CloseCode::refused},
     {ErrorCode::invalid_argument, CloseCode::refused},
     {ErrorCode::file_io, CloseCode::file_io},
     {ErrorCode::integrity, CloseCode::integrity},
     {ErrorCode::timeout, CloseCode::timeout},
     {ErrorCode::network, CloseCode::timeout},
     {ErrorCode::no_route, CloseCode::timeout},
     {ErrorCode::udp_blocked, CloseCode::timeout},
     {ErrorCode::interrupted, CloseCode::interrupted},
     {ErrorCode::cancelled, CloseCode::interrupted},
     {ErrorCode::internal, CloseCode::internal},
     {ErrorCode::partial, CloseCode::internal},
     {ErrorCode::changed, CloseCode::internal},
     {ErrorCode::not_sent, CloseCode::internal},
     {ErrorCode::no_resources, CloseCode::no_resources},
     {ErrorCode::superseded, CloseCode::superseded},
     {ErrorCode::going_away, CloseCode::going_away}}};

}  // namespace

CloseCode close_code_for(ErrorCode code) noexcept {
    const auto found = std::ranges::find(kCloseCodes, code, &std::pair<ErrorCode, CloseCode>::first);
    return found == kCloseCodes.end() ? CloseCode::internal : found->second;
}

ErrorCode error_code_for(std::uint64_t wire_code) noexcept {
    const auto found =
        std::ranges::find(kCloseCodes, static_cast<CloseCode>(wire_code), &std::pair<ErrorCode, CloseCode>::second);
    return found == kCloseCodes.end() ? ErrorCode::protocol : found->first;
}

Error error_for(const proto::CloseReason& reason, const char* peer) {
    const ErrorCode code = reason.application ? error_code_for(reason.wire_code) : reason.code;
    return {code, (reason.application && reason.by_peer ? peer : "") + escape_line(reason.message)};
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

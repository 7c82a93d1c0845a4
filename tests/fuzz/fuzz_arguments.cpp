// Command-line arguments: URLs, [user@]host:path, ports, paths, rates, times. What parses is within its bounds and
// means the same after it is written again. Printing it cannot harm a terminal.
#include <string>

#include "common/locations.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "fuzz/require.hpp"
#include "options/common_options.hpp"
#include "ssh/bootstrap.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "URLs, targets and other arguments keep their meaning when they are written again"},
    {51, "escaped text has no control character"}};

using namespace udtx;
using namespace udtx::apps;
using udtx::fuzz::require;

namespace {

void check_url(std::string_view text) {
    const auto url = parse_url(text);
    if (!url) return require(url.error().code == ErrorCode::invalid_argument, "a bad URL is told as such");
    require(!url->host.empty() && url->port != 0, "a URL has a host and a port");
    require(url->path.find('\0') == std::string::npos, "a path has no zero byte");
    if (url->path.find('%') != std::string::npos) return;  // to_text() does not encode anything
    const auto again = parse_url(to_text(*url));
    require(again.ok(), "a URL that is written is one");
    require(again->host == url->host && again->port == url->port && again->path == url->path, "and is the same");
}

void check_target(std::string_view text) {
    const auto target = parse_ssh_target(text);
    if (!target) return;
    require(!target->host.empty() && target->host.front() != '-', "a host is no option of ssh");
    require(target->user.empty() || target->user.front() != '-', "nor is a user");
    require(target->login().front() != '-', "nor are both");
}

void check_ports(const std::string& text) {
    const auto range = parse_port_range(text);
    if (range) {
        require(range->first > 0 && range->first <= range->last, "a range of ports ascends");
        const auto again = parse_port_range(to_string(*range));
        require(again && *again == *range, "and is written to the same");
    }
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    const auto port = parse_bootstrap_port(words);
    if (!port) return;
    const auto again = parse_bootstrap_port(to_arguments(*port));
    require(again && *again == *port, "the far end understands what port is wanted");
}

void check_numbers(std::string_view text) {
    if (const auto rate = parse_rate(text)) require(rate->bps() >= 8000.0 && rate->bps() <= 1e15, "rates are bounded");
    if (const auto rate = parse_bwlimit(text)) {
        require(rate->is_infinite() || (rate->bps() >= 8000.0 && rate->bps() <= 1e15), "limits are bounded");
    }
    if (const auto time = parse_seconds(text)) require(*time >= std::chrono::milliseconds(100), "times are bounded");
    if (const auto mtu = parse_mtu(text)) require(*mtu >= 1232 && *mtu <= 65000, "sizes are bounded");
    if (const auto path = parse_path(std::string(text))) {
        require(!path->local.empty() && path->weight > 0 && path->weight <= 1e6, "paths have an address and a weight");
    }
    const auto schedule = Schedule::parse(text);
    if (!schedule) return;
    for (int minute = 0; minute < 1440; minute += 60) {
        const Rate rate = schedule->at(minute);
        require(rate.is_infinite() || rate.bps() >= 8000.0, "a schedule holds all day");
    }
}

void check_text(std::string_view text) {
    for (const std::string& safe : {escape_for_terminal(text), escape_message(text)}) {
        for (std::string_view rest = safe; !rest.empty();) {
            const std::size_t length = utf8_sequence(rest);
            require(length > 0, "escaped text is UTF-8");
            const auto first = static_cast<unsigned char>(rest.front());
            require(first >= 0x20 && first != 0x7f, "escaped text has no control character");
            rest.remove_prefix(length);
        }
        require(count_columns(shorten(safe, 20)) <= 20, "what is cut fits");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_url(text);
    check_target(text);
    check_ports(text);
    check_numbers(text);
    check_text(text);
    return 0;
}

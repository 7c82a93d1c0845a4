#include "common/port_range.hpp"

#include "common/url.hpp"

namespace udtx::apps {

Result<PortRange> parse_port_range(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = parse_port(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
    if (!first || !last || *first > *last) {
        return Error{ErrorCode::invalid_argument,
                     "'" + std::string(text) + "' is neither a port (1 to 65535) nor a range such as 60000-60010"};
    }
    return PortRange{*first, *last};
}

std::string to_string(PortRange range) {
    const std::string first = std::to_string(range.first);
    return range.first == range.last ? first : first + "-" + std::to_string(range.last);
}

}  // namespace udtx::apps

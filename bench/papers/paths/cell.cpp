#include "paths/cell.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>

namespace udtx::papers::paths {
namespace {

struct Field {
    std::string_view name;
    double* value;
};

void parse(std::string_view text, std::initializer_list<Field> fields) {
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto part = text.substr(0, comma);
        const auto sign = part.find('=');
        const auto name = part.substr(0, sign);
        const auto* field = std::ranges::find(fields, name, &Field::name);
        if (sign == std::string_view::npos || field == fields.end()) {
            throw std::invalid_argument("no such field: " + std::string(part));
        }
        *field->value = std::stod(std::string(part.substr(sign + 1)));
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
}

}  // namespace

Line parse_line(std::string_view text) {
    Line line;
    double queue = line.queue;
    double access_queue = line.access_queue;
    parse(text,
          {{"mbps", &line.mbps}, {"delay_ms", &line.delay_ms}, {"queue", &queue}, {"access_queue", &access_queue}});
    line.queue = static_cast<std::uint32_t>(queue);
    line.access_queue = static_cast<std::uint32_t>(access_queue);
    return line;
}

CrossTraffic parse_cross(std::string_view text) {
    CrossTraffic cross;
    double line = 0.0;
    parse(text, {{"line", &line},
                 {"from_s", &cross.from_s},
                 {"to_s", &cross.to_s},
                 {"peak_mbps", &cross.peak_mbps},
                 {"mean_mbps", &cross.mean_mbps}});
    cross.line = static_cast<std::size_t>(line);
    return cross;
}

Ramp parse_ramp(std::string_view text) {
    Ramp ramp;
    double line = 0.0;
    parse(text, {{"line", &line}, {"from_s", &ramp.from_s}, {"to_s", &ramp.to_s}, {"delay_ms", &ramp.delay_ms}});
    ramp.line = static_cast<std::size_t>(line);
    return ramp;
}

Errors parse_errors(std::string_view text) {
    Errors errors;
    double line = 0.0;
    parse(text, {{"line", &line}, {"from_s", &errors.from_s}, {"to_s", &errors.to_s}, {"rate", &errors.rate}});
    errors.line = static_cast<std::size_t>(line);
    return errors;
}

std::optional<std::string> fault_of(const Cell& cell) {
    const std::size_t lines = cell.lines.size();
    const auto beyond = [lines](const auto& what) { return what.line >= lines || what.to_s <= what.from_s; };
    if (lines == 0 || lines > 8) return "from 1 to 8 lines";
    if (std::ranges::any_of(cell.lines, [](const Line& l) {
            return l.mbps <= 0.0 || l.delay_ms < 0.0 || l.queue == 0 || l.access_queue == 0;
        })) {
        return "a line needs a rate and queues, and no negative delay";
    }
    if (std::ranges::any_of(cell.cross, beyond) || std::ranges::any_of(cell.ramps, beyond) ||
        std::ranges::any_of(cell.errors, beyond)) {
        return "a change needs a line that there is, and to end after it begins";
    }
    if (std::ranges::any_of(cell.cross,
                            [](const CrossTraffic& c) { return c.mean_mbps <= 0.0 || c.peak_mbps <= c.mean_mbps; })) {
        return "cross traffic needs a mean below its peak";
    }
    if (std::ranges::any_of(cell.errors, [](const Errors& e) { return e.rate < 0.0 || e.rate > 1.0; })) {
        return "an error rate is from 0 to 1";
    }
    return std::nullopt;
}

}  // namespace udtx::papers::paths

#include "settings.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "common/units.hpp"

namespace udtx::wan {

namespace {

Error bad(std::string_view what, std::string_view text) {
    return {ErrorCode::invalid_argument, "cannot read " + std::string(what) + " '" + std::string(text) + "'"};
}

Result<double> parse_number(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0.0) {
        return bad("number", text);
    }
    return value;
}

bool cut_suffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix)) return false;
    text.remove_suffix(suffix.size());
    return true;
}

/// Returns the part before `separator`. `text` keeps the part after it.
std::string_view cut(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view head = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    return head;
}

Result<void> read_probability(std::string_view text, double& out) {
    const auto value = parse_probability(text);
    if (!value) return value.error();
    out = *value;
    return {};
}

Result<void> read_duration(std::string_view text, Duration& out) {
    const auto value = parse_duration(text);
    if (!value) return value.error();
    out = *value;
    return {};
}

Result<void> read_order(std::string_view text, bool& keep) {
    if (text != "keep" && text != "free") return bad("order (give keep or free)", text);
    keep = text == "keep";
    return {};
}

Result<void> read_rate(std::string_view text, Rate& out) {
    if (text == "0") {
        out = Rate();
        return {};
    }
    const auto value = apps::parse_rate(text);
    if (!value) return value.error();
    out = *value;
    return {};
}

/// Parses enter/leave[/loss in the bad state].
Result<void> read_burst(std::string_view text, sim::BurstLoss& out) {
    if (auto done = read_probability(cut(text, '/'), out.enter); !done) return done;
    if (auto done = read_probability(cut(text, '/'), out.leave); !done) return done;
    return text.empty() ? Result<void>{} : read_probability(text, out.loss_in_bad);
}

/// Parses rate[/on/off[/from]].
Result<void> read_cross(std::string_view text, CrossTraffic& out) {
    out = CrossTraffic{};
    if (auto done = read_rate(cut(text, '/'), out.rate); !done) return done;
    if (text.empty()) return {};
    if (auto done = read_duration(cut(text, '/'), out.on); !done) return done;
    if (auto done = read_duration(cut(text, '/'), out.off); !done) return done;
    if (out.on <= Duration::zero()) return bad("cross traffic with no time on", text);
    return text.empty() ? Result<void>{} : read_duration(text, out.from);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
    std::string_view number = text;
    double scale = 1.0;
    if (cut_suffix(number, "ms")) {
        scale = 1e-3;
    } else if (cut_suffix(number, "us")) {
        scale = 1e-6;
    } else if (!cut_suffix(number, "s")) {
        return bad("time (give 20ms, 1.5s or 300us)", text);
    }
    const auto value = parse_number(number);
    if (!value || *value > 1e6) return bad("time (give 20ms, 1.5s or 300us)", text);
    return Duration(static_cast<Duration::rep>(std::llround(*value * scale * 1e9)));
}

Result<double> parse_probability(std::string_view text) {
    std::string_view number = text;
    const double scale = cut_suffix(number, "%") ? 0.01 : 1.0;
    const auto value = parse_number(number);
    if (!value || *value * scale > 1.0) return bad("probability (give 0.01 or 1%)", text);
    return *value * scale;
}

Result<void> ScenarioSettings::set_queue(Settings& settings, std::string_view value) {
    std::string_view number = value;
    const bool bdp = cut_suffix(number, "bdp");
    const auto size = parse_number(number);
    if (!size || *size > 1e15) return bad("queue (give bytes or 1.5bdp)", value);
    if (bdp) {
        settings.queue_bdp = *size;
    } else {
        settings.queue_bdp.reset();
        settings.params.queue_bytes = static_cast<std::uint64_t>(*size);
    }
    return {};
}

Result<void> ScenarioSettings::set(Settings& settings, std::string_view key, std::string_view value) {
    LineParams& p = settings.params;
    if (key == "rate") return read_rate(value, p.rate);
    if (key == "delay") return read_duration(value, p.delay);
    if (key == "queue") return set_queue(settings, value);
    if (key == "loss") return read_probability(value, p.loss);
    if (key == "burst") return read_burst(value, p.burst);
    if (key == "jitter") return read_duration(value, p.jitter);
    if (key == "coalesce") return read_duration(value, p.coalesce);
    if (key == "order") return read_order(value, p.keep_order);
    if (key == "duplicate") return read_probability(value, p.duplicate);
    if (key == "cross") return read_cross(value, p.cross);
    if (key == "reorder") {  // probability/delay
        if (auto done = read_probability(cut(value, '/'), p.reorder); !done) return done;
        return read_duration(value, p.reorder_by);
    }
    return bad("setting (rate delay queue loss burst jitter coalesce order reorder duplicate cross)", key);
}

Result<void> ScenarioSettings::apply(Duration at, Side side, std::string_view text) {
    if (at < moments_.back().at) return bad("changes, which must come in the order of their times,", text);
    if (at > moments_.back().at) {
        moments_.push_back(moments_.back());
        moments_.back().at = at;
    }
    while (!text.empty()) {
        std::string_view value = cut(text, ',');
        const std::string_view key = cut(value, '=');
        if (side != Side::up) {
            if (auto done = set(moments_.back().down, key, value); !done) return done;
        }
        if (side != Side::down) {
            if (auto done = set(moments_.back().up, key, value); !done) return done;
        }
    }
    return {};
}

Result<void> ScenarioSettings::apply_change(std::string_view text) {
    const std::string_view whole = text;
    const auto at = parse_duration(cut(text, ':'));
    if (!at) return at.error();
    const std::string_view side = cut(text, ':');
    if (side == "down") return apply(*at, Side::down, text);
    if (side == "up") return apply(*at, Side::up, text);
    if (side == "both") return apply(*at, Side::both, text);
    return bad("change (give 5s:down:rate=50M)", whole);
}

Result<void> ScenarioSettings::apply_host(std::string_view text) {
    const std::string_view whole = text;
    const auto host = parse_number(cut(text, ':'));
    if (!host || *host > 255.0 || cut(text, '=') != "delay") return bad("host (give 3:delay=40ms)", whole);
    return read_duration(text, extra_delay_[static_cast<std::size_t>(*host)]);
}

Result<void> ScenarioSettings::resolve(const Settings& settings, Duration round_trip, LineParams& out) {
    out = settings.params;
    if (!settings.queue_bdp) return {};
    if (out.rate.is_infinite()) return bad("queue: an unlimited rate has no BDP;", "bdp");
    out.queue_bytes = static_cast<std::uint64_t>(std::llround(*settings.queue_bdp * out.rate.bytes_in(round_trip)));
    return {};
}

Result<ScenarioSettings::Lines> ScenarioSettings::lines(std::uint64_t seed) const {
    Lines result;
    result.down.phases.clear();
    result.up.phases.clear();
    for (const Moment& moment : moments_) {
        const Duration round_trip = moment.down.params.delay + moment.up.params.delay;
        Phase down{moment.at, {}};
        Phase up{moment.at, {}};
        if (auto done = resolve(moment.down, round_trip, down.params); !done) return done.error();
        if (auto done = resolve(moment.up, round_trip, up.params); !done) return done.error();
        result.down.phases.push_back(down);
        result.up.phases.push_back(up);
    }
    result.down.extra_delay = result.up.extra_delay = extra_delay_;
    result.down.seed = seed;
    result.up.seed = seed + 1;
    return result;
}

}  // namespace udtx::wan

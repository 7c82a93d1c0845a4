#include "options/rate_options.hpp"

#include <CLI/CLI.hpp>

#include "common/units.hpp"

namespace udtx::apps {
namespace {

Error wrong(const char* flag, const Error& error) { return {error.code, std::string(flag) + ": " + error.message}; }

}  // namespace

void RateOptions::add_to(CLI::App& app, const std::string& group) {
    app.add_option("--bwlimit", bwlimit_text,
                   "--rate in the units of rsync: KiB per second, or 1.5M (of 1024), 2MB (of 1000)")
        ->type_name("RATE")
        ->group(group);
    app.add_option("--schedule", schedule_text, "Maximum rates by local time of day: \"08:00,512M 18:00,off\"")
        ->type_name("TIMES")
        ->group(group);
    app.add_option("--host-rate", host_rate_text,
                   "Maximum rate of all transfers of this user with this flag, in equal shares")
        ->type_name("RATE")
        ->group(group);
}

Result<void> RateOptions::check() {
    if (!bwlimit_text.empty()) {
        const auto parsed = parse_bwlimit(bwlimit_text);
        if (!parsed) return wrong("--bwlimit", parsed.error());
        bwlimit = *parsed;
    }
    if (!schedule_text.empty()) {
        auto parsed = Schedule::parse(schedule_text);
        if (!parsed) return wrong("--schedule", parsed.error());
        schedule = std::move(*parsed);
    }
    if (!host_rate_text.empty()) {
        const auto parsed = parse_rate(host_rate_text);
        if (!parsed) return wrong("--host-rate", parsed.error());
        host_rate = *parsed;
    }
    return {};
}

}  // namespace udtx::apps

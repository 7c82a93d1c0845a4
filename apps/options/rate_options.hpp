// Rate flags besides --rate: rsync's --bwlimit, a schedule, a rate for the whole host.
#pragma once

#include <optional>
#include <string>

#include "options/schedule.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

struct RateOptions {
    std::string bwlimit_text;
    std::string schedule_text;
    std::string host_rate_text;

    std::optional<Rate> bwlimit;
    std::optional<Schedule> schedule;
    Rate host_rate = Rate::infinite();

    void add_to(CLI::App& app, const std::string& group);
    Result<void> check();
};

}  // namespace udtx::apps

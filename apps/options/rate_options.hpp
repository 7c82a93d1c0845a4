// Rate caps by time of day: "08:00,512M 18:00,off".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class Schedule {
  public:
    /// Parses entries HH:MM,RATE in any order, separated by blanks or ';'. RATE is as for --rate, or "off" for no cap.
    static Result<Schedule> parse(std::string_view text);

    /// The cap at this minute of the day, 0 to 1439. It is that of the last earlier entry, if necessary from the day
    /// before.
    [[nodiscard]] Rate at(int minute) const;
    [[nodiscard]] bool ever_off() const;

  private:
    struct Entry {
        int minute = 0;
        Rate rate;
    };
    std::vector<Entry> entries_;  // sorted by time, at least one
};

/// In local time.
[[nodiscard]] int minute_of_day();

}  // namespace udtx::apps

// Rate flags besides --rate: rsync's --bwlimit, a schedule, a rate for the whole host.

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

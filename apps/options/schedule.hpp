// Rate caps by the time of day: "08:00,512M 18:00,off".
#pragma once

#include <string_view>
#include <vector>

#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class Schedule {
  public:
    /// Entries HH:MM,RATE in any order, with blanks or ';' between them; RATE as --rate has it, or "off" for no cap.
    static Result<Schedule> parse(std::string_view text);

    /// The cap at this minute of the day, 0 to 1439: that of the last entry before, where need be of the day before.
    [[nodiscard]] Rate at(int minute) const;
    [[nodiscard]] bool ever_off() const;

  private:
    struct Entry {
        int minute = 0;
        Rate rate;
    };
    std::vector<Entry> entries_;  // by time, at least one
};

/// By the local clock.
[[nodiscard]] int minute_of_day();

}  // namespace udtx::apps

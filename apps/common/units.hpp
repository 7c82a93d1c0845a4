// Parses and formats numbers with units. Prefixes are decimal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Parses bits per second, with the prefixes k M G T of 1000: "500M", "1.5G", "64k", "9600", "500Mbit", "500Mbit/s",
/// "1Gbps".
Result<Rate> parse_rate(std::string_view text);
/// A value of rsync's --bwlimit: "1000" is KiB/s, "1.5M" or "1.5MiB" uses 1024, "2MB" uses 1000, "64B" is bytes; 0: no
/// limit.
Result<Rate> parse_bwlimit(std::string_view text);
/// Parses seconds, with fractions, from 0.1 to ten years.
Result<Duration> parse_seconds(std::string_view text);
/// The largest UDP payload for an "--mtu" value, which includes the IP and UDP headers: "auto" or 1280 to 65535.
Result<std::uint32_t> parse_mtu(std::string_view text);

/// Rate caps by time of day: "08:00,512M 18:00,off".
class Schedule {
  public:
    /// Parses entries HH:MM,RATE in any order, separated by blanks or ';'. RATE is as for --rate, or "off" for no cap.
    static Result<Schedule> parse(std::string_view text);

    /// The cap at this minute of the day, 0 to 1439. It is that of the last earlier entry, if necessary from the day
    /// before.
    [[nodiscard]] Rate at(int minute) const;

  private:
    struct Entry {
        int minute = 0;
        Rate rate;
    };
    std::vector<Entry> entries_;  // sorted by time, at least one
};

/// The minute of now, in local time.
[[nodiscard]] int minute_of_day();

[[nodiscard]] std::string format_rate(Rate rate);             ///< "943 Mbit/s"; "unlimited" for an infinite one
[[nodiscard]] std::string format_byte_rate(Rate rate);        ///< "118 MB/s"
[[nodiscard]] std::string describe_rate_cap(Rate rate);       ///< "rate cap: 500 Mbit/s (62.5 MB/s)"
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);  ///< "1.05 GB", "999 B"
[[nodiscard]] std::string format_count(std::uint64_t n);      ///< "1,234,567"
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view one);  ///< "1 file", "1,234 files"
[[nodiscard]] std::string format_clock(Duration d);                        ///< "0:07", "12:34", "3:04:05", "9d 03h"
[[nodiscard]] std::string format_elapsed(Duration d);                      ///< "0.42 s", "12.3 s", "1:05"
[[nodiscard]] std::string format_milliseconds(Duration d);                 ///< "0.12 ms", "143 ms"

/// For machine-readable output.
[[nodiscard]] inline double in_milliseconds(Duration d) noexcept { return to_seconds(d) * 1e3; }

}  // namespace udtx::apps

// Links drawn at random, in virtual time: one flow on each, judged by the goodput of 10 s.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cells.hpp"

namespace udtx::bench {

struct DrawnLine {
    double mbps = 0.0;
    double rtt_ms = 0.0;
    double loss_percent = 0.0;
    double queue_bdp = 0.0;
    double jitter_ms = 0.0;  ///< uniform from 0, in order

    [[nodiscard]] std::string name() const;
};

/// Reads one link from each line of a file: the five numbers in the order of DrawnLine. Throws if a line has something
/// else, or if there is none.
[[nodiscard]] std::vector<DrawnLine> read_lines(const std::string& path);

/// Runs one flow from 0 s to 15 s. Judges 5 s to 15 s by its share of what the link could carry.
[[nodiscard]] Figure run_line(const DrawnLine& line, const Maker& maker, std::uint64_t seed);

}  // namespace udtx::bench

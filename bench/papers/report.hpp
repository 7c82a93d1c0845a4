// A run as text.
#pragma once

#include <iosfwd>

#include "cell.hpp"
#include "experiment.hpp"

namespace udtx::papers {

/// One JSON object on one line.
void write_summary(std::ostream& out, const Cell& cell, const Run& run);
/// CSV, a row for each SYN interval.
void write_samples(std::ostream& out, const Run& run);
/// CSV, a row for each second: Mbit/s of each flow, Jain's index of those that had joined.
void write_seconds(std::ostream& out, const Run& run);

}  // namespace udtx::papers

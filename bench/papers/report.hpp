// Writes a run as text.
#pragma once

#include <iosfwd>

#include "cell.hpp"
#include "experiment.hpp"

namespace udtx::papers {

/// One JSON object on one line.
void write_summary(std::ostream& out, const Cell& cell, const Run& run);
/// CSV with one row per SYN interval.
void write_samples(std::ostream& out, const Run& run);
/// CSV with one row per second: Mbit/s of each flow, and Jain's index of the flows that had joined.
void write_seconds(std::ostream& out, const Run& run);

}  // namespace udtx::papers

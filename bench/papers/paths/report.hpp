// Writes a run as text.
#pragma once

#include <iosfwd>

#include "paths/cell.hpp"
#include "paths/experiment.hpp"

namespace udtx::papers::paths {

/// One JSON object on one line.
void write_summary(std::ostream& out, const Cell& cell, const Run& run);
/// CSV with ten rows per second.
void write_samples(std::ostream& out, const Run& run);

}  // namespace udtx::papers::paths

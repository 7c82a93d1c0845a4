// The results of the episodes of a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "soak/episode.hpp"
#include "soak/files_episode.hpp"
#include "soak/plan.hpp"

namespace udtx::soak {

/// Figures by name. The lines of several processes can be merged.
class Tally {
  public:
    void add(const Plan& plan, const Outcome& outcome);
    void add(const FilesOutcome& outcome);
    void memory(std::uint64_t resident);
    /// Writes the figures as "name value" lines; take() reads such a line back.
    [[nodiscard]] std::string lines() const;
    void take(const std::string& name, double value);
    [[nodiscard]] double get(const std::string& name) const;
    [[nodiscard]] std::string summary(double real_seconds) const;

  private:
    std::map<std::string, double> figures_;
};

}  // namespace udtx::soak

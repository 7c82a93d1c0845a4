// Samples the links at intervals and writes CSV: one file with a row per link and sample, another with a row per flow
// that moved bytes. Counters start with the run. queue_peak and wait_ms cover the last interval. time is the
// machine's monotonic clock.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "line.hpp"
#include "udtx/result.hpp"

namespace udtx::wan {

class Trace {
  public:
    /// An empty name means that the file is not written.
    static Result<Trace> open(const std::string& line_file, const std::string& flow_file, Duration interval);

    [[nodiscard]] Duration interval() const noexcept { return interval_; }
    void sample(Instant now, const std::string& name, Line& line);

  private:
    struct Close {
        void operator()(std::FILE* file) const noexcept;
    };
    using File = std::unique_ptr<std::FILE, Close>;
    struct Before {
        LineCounters counters;
        std::array<std::uint64_t, kFlows> flows{};
    };

    explicit Trace(Duration interval) : interval_(interval) {}
    static Result<File> open_file(const std::string& name, const char* heading);

    Duration interval_;
    File lines_;
    File flows_;
    std::map<std::string, Before> before_;
};

}  // namespace udtx::wan

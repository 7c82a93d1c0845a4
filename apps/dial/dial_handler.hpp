// Dials for a job, sender or receiver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "io/dial.hpp"
#include "transfer/job/job.hpp"
#include "udtx/stats.hpp"

namespace udtx::apps {

/// See io::Dial.
class DialHandler {
  public:
    /// `candidates` are tried in turn; `several`: they are paths of one connection, else addresses of one host.
    DialHandler(io::Driver& driver, std::vector<proto::PathAddresses> candidates, bool several, transfer::Job& job,
                Log& log);

    /// Before the driver runs.
    void dial() { dial_->begin(); }
    /// Any thread: ends the transfer, also while it is still being dialled.
    void abort(ErrorCode code, const std::string& reason);
    void suspect_end() { dial_->suspect_end(); }
    void set_max_rate(Rate rate) { dial_->set_max_rate(rate); }
    [[nodiscard]] bool connected() const { return connected_since().has_value(); }
    [[nodiscard]] std::optional<Instant> connected_since() const { return dial_->connected_since(); }
    [[nodiscard]] bool lost() const { return dial_->lost(); }
    void sample_stats() { dial_->sample_stats(); }
    [[nodiscard]] std::optional<ConnectionStats> final_stats() const { return dial_->kept_stats(); }
    [[nodiscard]] Instant stats_at() const { return dial_->stats_at(); }

  private:
    transfer::Job& job_;
    std::shared_ptr<io::Dial> dial_;
};

}  // namespace udtx::apps

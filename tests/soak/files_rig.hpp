// One transfer of files over a simulated line, pushed or pulled, as between two processes that have just started.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "scenario/transfer_rig.hpp"
#include "sim/scenario.hpp"
#include "transfer/job/served_job.hpp"

namespace udtx::soak {

struct FilesSetup {
    std::string source;       ///< a directory
    std::string destination;  ///< the directory that receives the source
    bool pull = false;
    std::uint64_t transfer = 0;
};

class FilesRig {
  public:
    /// Check ok() before any other call.
    FilesRig(sim::Scenario& scenario, const FilesSetup& setup);

    [[nodiscard]] bool ok() const noexcept { return sender_ != nullptr && receiver_ != nullptr; }
    /// True if both jobs have ended. A listening end that was never reached counts as ended.
    [[nodiscard]] bool over() const noexcept;
    [[nodiscard]] transfer::Outcome sent() const { return sender_->result(); }
    [[nodiscard]] transfer::Outcome received() const { return receiver_->result(); }
    /// True if this end has had a connection. An end without a connection has no outcome.
    [[nodiscard]] bool began(bool sender) const noexcept {
        const bool listens = (served_app_ != nullptr) == sender;
        return reached_ || !listens;
    }
    /// Aborts the transfer at this end, as the user would.
    void abort_at(bool sender, Instant when);

  private:
    void push(sim::Scenario& scenario, const FilesSetup& setup);
    void pull(sim::Scenario& scenario, const FilesSetup& setup);

    std::atomic<bool> sent_{false};
    std::atomic<bool> received_{false};
    std::shared_ptr<sim::JobApp<transfer::SendJob>> send_app_;
    std::shared_ptr<sim::JobApp<transfer::ReceiveJob>> receive_app_;
    std::shared_ptr<sim::JobApp<transfer::ServedJob>> served_app_;
    transfer::Job* sender_ = nullptr;
    transfer::Job* receiver_ = nullptr;
    bool reached_ = false;  ///< the listening end has had a connection
};

}  // namespace udtx::soak

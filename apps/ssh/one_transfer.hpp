// The far end of a transfer that was asked for over ssh: waits for the one connection, serves it, and ends.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "common/exit_codes.hpp"
#include "common/signals.hpp"
#include "control/transfer_card.hpp"
#include "io/driver.hpp"
#include "observe/observer.hpp"
#include "proto/application.hpp"
#include "ssh/bootstrap_channel.hpp"
#include "transfer/job/job.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

class OneTransfer final : public proto::ConnectionHandler, public std::enable_shared_from_this<OneTransfer> {
  public:
    /// All outlive it. `done` is set when the job's result is final, and the signal waiter woken.
    OneTransfer(io::Driver& driver, transfer::Job& job, DataEnd end, const std::atomic<bool>& done,
                SignalWaiter& signals)
        : driver_(driver), job_(job), done_(done), signals_(signals), observer_(end, false, {}) {}

    /// Before the driver runs.
    void listen();
    /// Until the transfer is over or will not come; it ends when nothing has moved for `patience`. False: it had to be
    /// left behind. `card`: what it says of itself meanwhile.
    [[nodiscard]] bool serve(BootstrapChannel& channel, Duration patience, TransferCard card);
    [[nodiscard]] ExitCode code() const;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    /// The other side's ssh has gone: it has, too, unless it answers.
    void suspect_end();
    void tell_heard(const BootstrapChannel& channel);
    [[nodiscard]] bool serve(BootstrapChannel& channel, Duration patience);
    /// The first time in good order, the second time at once.
    void abort(Instant now, ErrorCode code, const std::string& reason);
    /// False: leave at once.
    bool interrupt(int signal, Instant now);

    io::Driver& driver_;
    transfer::Job& job_;
    const std::atomic<bool>& done_;
    SignalWaiter& signals_;
    proto::Connection* connection_ = nullptr;  // until it has closed; protocol thread
    std::atomic<bool> taken_{false};
    Interruption interruption_;
    std::optional<Instant> deadline_;  // it was aborted
    bool told_heard_ = false;
    Observer observer_;
};

}  // namespace udtx::apps

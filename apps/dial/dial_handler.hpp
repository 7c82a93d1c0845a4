// Stands between the driver and the job of the side that dials, sender or receiver: tries the addresses of a host one
// after another, and keeps the statistics.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "io/driver.hpp"
#include "proto/application.hpp"
#include "transfer/job/job.hpp"
#include "udtx/address.hpp"
#include "udtx/stats.hpp"

namespace udtx::apps {

/// Where there are several paths, the connection is dialled over the first that answers, and the others are opened
/// then. The job hears nothing of attempts that failed while there was another address to try.
class DialHandler final : public proto::ConnectionHandler, public std::enable_shared_from_this<DialHandler> {
  public:
    /// `candidates` are tried in turn; `several`: they are paths of one connection, else addresses of one host.
    DialHandler(io::Driver& driver, std::vector<proto::PathAddresses> candidates, bool several, transfer::Job& job,
                Log& log);

    /// Before the driver runs.
    void dial();
    /// Any thread: ends the transfer, also while it is still being dialled.
    void abort(ErrorCode code, const std::string& reason);
    /// Any thread: the program that we dialled is said to have ended (proto::Connection::suspect()).
    void suspect_end();
    /// Any thread: the cap from now on, also of connections that are still to come.
    void set_max_rate(Rate rate);
    /// Any thread.
    [[nodiscard]] bool connected() const;
    /// Any thread: since when the other paths are asked for.
    [[nodiscard]] std::optional<Instant> connected_since() const;
    /// Any thread: it was connected, and fell silent.
    [[nodiscard]] bool lost() const;
    /// Any thread: has the statistics of a connection that is not closed yet kept, soon.
    void sample_stats();
    /// Of the connection at its end, or when last sampled. Any thread.
    [[nodiscard]] std::optional<ConnectionStats> final_stats() const;
    /// When those were taken; any thread.
    [[nodiscard]] Instant stats_at() const;

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    void dial_next();
    void open_other_paths(Instant now, proto::Connection& connection);
    void tell(const proto::event::PathChanged& path);
    [[nodiscard]] bool try_another(const proto::CloseReason& reason);
    void keep_stats(const proto::Connection& connection);

    io::Driver& driver_;
    std::vector<proto::PathAddresses> candidates_;
    bool several_;
    std::size_t next_ = 0;
    transfer::Job& job_;
    Log& log_;
    std::shared_ptr<proto::Connection> connection_;  // until it has closed
    std::optional<Rate> max_rate_;
    bool aborted_ = false;
    std::optional<proto::CloseReason> failed_beyond_;  // of an address that this host has a route to

    mutable std::mutex mutex_;  // guards what follows
    std::optional<Instant> connected_since_;
    bool lost_ = false;
    std::optional<ConnectionStats> stats_;
    Instant stats_at_{};
};

}  // namespace udtx::apps

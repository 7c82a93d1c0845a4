// One connection being served: its job, which receives or sends, and what was measured.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/driver.hpp"
#include "observe/observer.hpp"
#include "observe/progress_display.hpp"
#include "proto/application.hpp"
#include "transfer/job/served_job.hpp"
#include "udtx/stats.hpp"

namespace udtx::apps {

class ServedConnection final : public proto::ConnectionHandler, public std::enable_shared_from_this<ServedConnection> {
  public:
    /// A peer from which nothing has come for so long leaves its share of the rate to the others.
    static constexpr Duration kStandsStillAfter = std::chrono::seconds(5);

    /// `on_done` may be called on any thread. Protocol thread. `most`: the rate of the peer's key.
    /// `who`: the peer for people, with the name of its key. `owner`: whose budget it is on (KeyBudget).
    /// `directory`: where it may be at work; empty: none.
    static std::shared_ptr<ServedConnection> make(io::Driver& driver, proto::Connection& connection, std::string who,
                                                  std::uint64_t owner, std::string directory,
                                                  transfer::ServeOptions options, std::function<void()> on_done,
                                                  Rate most);

    // --- any thread
    [[nodiscard]] bool done() const noexcept { return *done_; }
    [[nodiscard]] const transfer::ServedJob& job() const noexcept { return *job_; }
    [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    [[nodiscard]] std::uint64_t owner() const noexcept { return owner_; }
    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
    /// "to 192.0.2.1:40000 (bob)": whom it serves, and which way.
    [[nodiscard]] std::string direction() const { return (fetched() ? "to " : "from ") + who_; }
    [[nodiscard]] Duration elapsed() const;  ///< until it was done
    /// Has the statistics of a connection that is not closed yet kept, soon.
    void sample_stats();
    /// Of the connection at its end, or when last sampled.
    [[nodiscard]] std::optional<ConnectionStats> final_stats() const;

    /// Memory that the peer makes this end hold.
    [[nodiscard]] std::uint64_t held() const { return job_->held() + streams_held_; }
    /// So long look() has seen nothing move: of a transfer, or of the word of what is wanted.
    [[nodiscard]] Duration idle() const noexcept { return idle_; }
    /// It has not said yet what it wants.
    [[nodiscard]] bool is_silent() const noexcept { return job_->receiver() == nullptr && job_->sender() == nullptr; }
    /// Ends soon, so that others have its place; `why` is for the peer.
    void give_way(ErrorCode code, std::string why);
    /// It is over, or will be soon.
    [[nodiscard]] bool leaves() const noexcept { return done() || gives_way_; }

    /// What look() saw last.
    [[nodiscard]] Observation observed() const { return observer_.latest(); }
    /// The peer only measures the line.
    [[nodiscard]] bool is_probe() const noexcept { return job_->receiver() != nullptr && job_->receiver()->is_probe(); }
    /// The peer asked for something, granted or not.
    [[nodiscard]] bool fetched() const noexcept { return job_->fetches(); }
    /// The peer is given something.
    [[nodiscard]] bool sends() const noexcept { return job_->sender() != nullptr; }

    // --- one thread, not the protocol thread
    /// `protocol`: what the protocol thread has needed so far.
    void look(Instant now, Duration protocol);
    /// look() saw nothing move for some time: its peer waits for something, or is gone without a word.
    [[nodiscard]] bool stands_still() const noexcept { return idle() >= kStandsStillAfter; }
    /// The transfer is to keep to this rate from now on, or to that of its key where that is less.
    void keep_below(Rate rate);
    /// Ends the transfer in good order; end_if_overdue() sees to it that it does end.
    void abort(Instant now, ErrorCode code, const std::string& reason);
    /// Ends the transfer when look() saw nothing move for `patience`, and one whose peer does not say what it
    /// wants, or does not come to the end of it.
    void end_if_overdue(Instant now, std::optional<Duration> patience);

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    void ask_to_end();
    void keep_stats(const proto::Connection& connection);
    ServedConnection(io::Driver& driver, proto::Connection& connection, std::string who, std::uint64_t owner,
                     std::string directory, Rate most, Rate cap);

    io::Driver& driver_;
    proto::Connection* connection_;  // null once it has closed; protocol thread
    bool waker_set_ = false;
    std::string peer_;
    std::string who_;
    std::uint64_t owner_;
    std::string directory_;
    Instant start_;
    std::uint64_t heard_ = 0;  // when last looked at ...
    Instant heard_at_;         // ... and since when
    std::shared_ptr<std::atomic<bool>> done_ = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<std::atomic<Instant>> end_ = std::make_shared<std::atomic<Instant>>(Instant{});
    Rate most_;
    Rate cap_;  // as the job knows it
    Observer observer_;
    StallTimer stall_;
    std::atomic<Duration> idle_{};
    std::atomic<std::uint64_t> streams_held_{0};  // memory of the connection, when last sampled
    std::atomic<bool> gives_way_{false};
    std::optional<Error> aborted_;  // why
    Instant aborted_at_{};
    bool closed_ = false;

    mutable std::mutex mutex_;
    std::optional<ConnectionStats> stats_;
    std::optional<Error> way_given_;            // why
    std::unique_ptr<transfer::ServedJob> job_;  // goes first: its threads use what is above
};

}  // namespace udtx::apps

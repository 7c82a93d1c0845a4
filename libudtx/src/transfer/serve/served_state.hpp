// The state of a ServedTransfer: one connection of a server with its job, which receives or sends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/thread_safety.hpp"
#include "io/protocol_thread.hpp"
#include "proto/application.hpp"
#include "transfer/job/served_job.hpp"
#include "transfer/run/job_watch.hpp"
#include "udtx/stats.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::transfer {

class ServedState final : public JobWatch,
                          public proto::ConnectionHandler,
                          public std::enable_shared_from_this<ServedState> {
  public:
    struct Setup {
        Client client;
        std::uint64_t owner = 0;  ///< number of the owner whose budget it uses
        ServeOptions serve;
        Rate most;                      ///< highest rate of this client
        std::function<void()> on_done;  ///< any thread
        LogSink log;                    ///< for path events
    };
    /// Protocol thread.
    ServedState(std::weak_ptr<io::ProtocolThread> protocol, proto::Connection& connection, Setup setup);

    // --- any thread
    [[nodiscard]] const Client& client() const noexcept { return client_; }
    [[nodiscard]] std::uint64_t owner() const noexcept { return owner_; }
    /// True if `thread` runs its connection.
    [[nodiscard]] bool runs_on(const io::ProtocolThread& thread) const { return protocol_.lock().get() == &thread; }
    [[nodiscard]] bool at_rest() const noexcept { return job_->at_rest(); }
    /// Memory that the peer makes this end hold.
    [[nodiscard]] std::uint64_t held() const { return job_->held() + streams_held_; }
    /// True if the peer has not stated its request yet.
    [[nodiscard]] bool is_silent() const noexcept { return job_->receiver() == nullptr && job_->sender() == nullptr; }
    /// Ends the connection soon, to make room for others; `why` is for the peer.
    void give_way(ErrorCode code, std::string why);
    /// True if it is over, or will be soon.
    [[nodiscard]] bool leaves() const {
        const Lock lock(mutex_);
        return job_over() || way_given_;
    }
    void cancel(ErrorCode code, const std::string& reason);

    // --- the server's thread
    /// Checks for progress. It ends the transfer if nothing moved for `patience` (zero: no limit). It also ends a
    /// connection whose peer does not state its request, or does not complete it.
    void turn(Instant now, Duration patience);
    /// Call it once the job is over: it gives the receipt its name. It may be repeated.
    void settle();

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override { job_->on_wake(now, connection); }
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override {
        job_->on_piece(id, offset, bytes);
    }

  private:
    friend class ServedTransfer;

    /// Runs `what` on the protocol thread, unless the connection has closed or the server is gone.
    void act(std::function<void(proto::Connection&)> what);
    void ask_to_end(const Error& why) override;
    void keep_stats(const proto::Connection& connection);
    /// The reason to end the connection of a peer that keeps us waiting; nullopt: none.
    [[nodiscard]] std::optional<Error> impatience(Instant now, Duration patience) const;

    const std::weak_ptr<io::ProtocolThread> protocol_;  // weak: the owner of this state may outlive the server
    proto::Connection* connection_;                     // null once it has closed; protocol thread
    bool waker_set_ = false;
    const Client client_;
    const std::uint64_t owner_;
    const Rate most_;
    const LogSink log_;
    std::uint64_t heard_ = 0;                     // bytes of the request at the last look
    Instant heard_at_;                            // time when heard_ last changed
    std::atomic<std::uint64_t> streams_held_{0};  // memory of the connection, when last sampled

    Rate cap_ GUARDED_BY(mutex_);  // as the job knows it
    std::optional<ConnectionStats> stats_ GUARDED_BY(mutex_);
    std::optional<Error> way_given_ GUARDED_BY(mutex_);  // why

    std::unique_ptr<ServedJob> job_;  // destroyed first: its threads use the members above
};

}  // namespace udtx::transfer

// Progress and outcome of a job, shared by its threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "proto/application.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

class JobReport {
  public:
    [[nodiscard]] Progress progress() const;
    [[nodiscard]] Outcome outcome() const;
    /// The directory of a path, below that of the client. `source`: its index, if it is known.
    using PlaceOf = std::function<std::string(const std::string& path, std::optional<std::size_t> source)>;

    /// Call it before the job works: reports the end of each file, link or stream.
    void tell_files(FileCallback tell, FileEvent::Direction direction) {
        tell_ = std::move(tell);
        direction_ = direction;
    }
    /// Call it before the first file ends.
    void set_place(PlaceOf place);
    /// A file, link or stream has arrived, and is on disk under its final name if it has one.
    void landed(const std::string& path, std::uint64_t bytes) const;
    /// A whole file, link or stream was sent.
    void sent(const std::string& path, std::uint64_t bytes, std::optional<std::size_t> source = {}) const;
    /// A stream ended too early. The status of the job has the error, and no entry counts as failed.
    void cut_off(const std::string& path, const Error& why) const;
    void fail(FailedFile failure);
    void fail(const std::string& path, const Error& why) {
        fail({.path = path, .code = why.code, .reason = why.message, .system_error = why.system_error});
    }
    /// Sender: records an entry that was found but cannot be announced to the receiver.
    void fail_unannounced(const std::string& path, const Error& why) {
        omit(why.message);
        fail(path, why);
    }
    /// The same for one that the caller has counted as failed.
    void omit(std::string reason);
    [[nodiscard]] std::uint64_t unannounced() const;
    /// The reasons of the first ones, with their names.
    [[nodiscard]] std::vector<std::string> reasons_unannounced() const;
    void warn(std::string text);
    /// Records an entry that was delivered, but without this attribute.
    void lacks(const Unset& unset);
    /// This end does work that may show in no other member of Progress. True, from time to time: wake the protocol
    /// thread, so that it tells the peer.
    [[nodiscard]] bool worked();
    /// How often this end has worked.
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
    /// The peer works.
    void peer_worked();
    /// Calls fn(Progress&, Outcome&) under the lock.
    template <class Fn>
    void edit(Fn&& fn) {
        const Lock lock(mutex_);
        fn(progress_, outcome_);
    }

  private:
    void tell(FileEvent event, std::optional<std::size_t> source = {}) const;

    std::atomic<std::uint64_t> steps_{0};
    std::atomic<std::chrono::steady_clock::time_point> woken_{};
    FileCallback tell_;
    FileEvent::Direction direction_ = FileEvent::Direction::receive;
    mutable Mutex mutex_;
    PlaceOf place_ GUARDED_BY(mutex_);
    Progress progress_ GUARDED_BY(mutex_);
    Outcome outcome_ GUARDED_BY(mutex_);
    std::uint64_t unannounced_ GUARDED_BY(mutex_) = 0;
    std::vector<std::string> reasons_ GUARDED_BY(mutex_);
};

/// "1 file" or "2 files".
[[nodiscard]] std::string counted(std::uint64_t number, const char* one, const char* more);

/// Status at the end of a transfer that was not interrupted. It is ok, partial, or the cause if nothing arrived. It is
/// also partial if only an attribute of an entry could not be set.
[[nodiscard]] Result<void> status_from_failures(const Outcome& outcome);

/// A Waker that can be set late and called from any thread. A wake() before set() takes effect at set().
class LateWaker {
  public:
    void set(proto::Waker waker);
    void wake();

  private:
    Mutex mutex_;
    proto::Waker waker_ GUARDED_BY(mutex_);
    bool missed_ GUARDED_BY(mutex_) = false;
};

}  // namespace udtx::transfer

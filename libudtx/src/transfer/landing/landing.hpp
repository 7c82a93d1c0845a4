// Takes the received data: the operations of the protocol thread, and the kinds of destination that carry them out.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/bounded_queue.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/disk_quota.hpp"
#include "transfer/job_report.hpp"
#include "transfer/landing/old_content.hpp"
#include "transfer/landing/report.hpp"
#include "transfer/message/messages.hpp"

namespace udtx::transfer {

// The operations that the protocol thread requests from the receiver's writer thread, in order.

namespace op {
struct KeepPieces {
    std::uint64_t index = 0;
    Extent extent;
    std::uint64_t first_ordinal = 0;
};
struct Hole {
    std::uint64_t index = 0;
    Extent extent;
};
struct EndFile {
    message::FileEnd end;
    std::uint64_t pieces = 0;
};
}  // namespace op

/// A checked message, a whole piece, or bytes of a stream.
using ReceiveOp =
    std::variant<message::Entry, WholePiece, message::Digests, message::Query, message::Meta, message::Rules,
                 message::Unsent, op::KeepPieces, op::Hole, op::EndFile, Chunk, message::Finish>;
using ReceiveQueue = BoundedQueue<ReceiveOp>;

// What the disk tasks of the receiver report to the protocol thread.

/// True for a file or another name of one.
[[nodiscard]] constexpr bool has_content(EntryType type) noexcept {
    return type == EntryType::file || type == EntryType::hard_link;
}

/// Counts what happens in the job's report, and keeps what the sender must be told until the protocol thread takes it.
class LandingReport final : public Report {
  public:
    struct News {
        std::uint64_t released_bytes = 0;       ///< since the last take()
        std::optional<message::Resume> resume;  ///< once, before the answers
        std::deque<message::Answer> answers;
        std::deque<std::string> erased;  ///< paths
        std::deque<message::FileFailed> failed;
        std::deque<std::string> notes;            ///< for the user at the sender
        bool more = false;                        ///< these lists have more for another take()
        std::optional<message::Confirm> confirm;  ///< once, when everything is done and the lists are empty
        std::optional<message::Share> share;      ///< the latest
        std::optional<message::Job> job;          ///< the latest
        std::optional<Error> fatal;
    };

    /// All arguments outlive it. It asks `queue` whether there is time to continue.
    LandingReport(LateWaker& waker, const ReceiveQueue& queue, JobReport& report)
        : job(report), waker_(waker), queue_(queue) {}

    void ended(Ended how, EntryType type, const std::string& path, std::uint64_t size) override;
    void failed(std::uint64_t index, const std::string& path, const Error& error) override;
    void lacks(EntryType type, Belonging what, const std::string& path, int error_number) override;
    void kept(std::uint64_t bytes) override;
    bool checked(std::uint64_t bytes) override;
    void warn(const std::string& text) override;
    void fatal(const Error& error) override;
    void answer(message::Answer answer);
    void confirm(const message::Confirm& confirm);
    /// Wakes the protocol thread: DELIVERED may have grown, or there is room for more.
    void wake() {
        edit([](News&) {});
    }
    /// True if the job ends early: nothing more is taken.
    [[nodiscard]] bool stopped() const { return queue_.closed(); }

    /// Counts bytes of the data stream that arrived. Any thread may call it.
    void note_arrived(std::uint64_t bytes) noexcept { arrived_.fetch_add(bytes, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_.load(std::memory_order_relaxed); }

    /// `room` is called when has_room() becomes true again. Set it before the first use.
    void call(std::function<void()> room) { room_ = std::move(room); }

    /// Counts bytes of the data stream that have left memory. Wakes the protocol thread once for several small files.
    /// tell_released() reports the rest.
    void note_released(std::uint64_t bytes);
    /// Call it before the thread that calls note_released() becomes idle.
    void tell_released();

    /// Calls fn(News&) under the lock. Wakes the protocol thread, unless it was woken and has not called take() yet.
    template <class Fn>
    void edit(Fn&& fn) {
        {
            const Lock lock(mutex_);
            fn(news_);
            if (std::exchange(woken_, true)) return;
        }
        try {
            waker_.wake();
        } catch (...) {
            const Lock lock(mutex_);
            woken_ = false;
            throw;
        }
    }
    /// True if the lists have room. An operation adds all of its reports, but no operation is started without room.
    [[nodiscard]] bool has_room() const {
        const Lock lock(mutex_);
        return room_for_more();
    }
    /// Which lists go into the stream besides the urgent news. The stream must have room for them.
    enum class Lists : std::uint8_t {
        none,
        some,  ///< at most what the stream should get at once
        all,   ///< nothing follows
    };
    [[nodiscard]] News take(Lists lists);

    JobReport& job;

  private:
    [[nodiscard]] bool room_for_more() const REQUIRES(mutex_);

    LateWaker& waker_;
    const ReceiveQueue& queue_;
    std::atomic<std::uint64_t> arrived_{0};
    std::function<void()> room_;
    mutable Mutex mutex_;
    News news_ GUARDED_BY(mutex_);
    bool woken_ GUARDED_BY(mutex_) = false;
};

// Takes the received data. The protocol thread requests one operation after the other.

/// The destination of a transfer. One thread at a time may use it, and no call waits for the sender. The destructor
/// cleans up.
class Landing {
  public:
    Landing() = default;
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    virtual ~Landing() = default;
    /// False: another job has to finish first. Call it again in a little while.
    [[nodiscard]] virtual bool begun() { return true; }
    /// Call it only after begun() has returned true.
    virtual void take(ReceiveOp op) = 0;
    /// Does a part of what the latest operation left. False: nothing is left.
    virtual bool go_on() { return false; }
    /// Bytes of memory that the sender makes it hold.
    [[nodiscard]] virtual std::uint64_t held() const { return 0; }
};

/// The offer as far as it applies here: the stricter choice of what to overwrite, owners only where they can be set,
/// and special bits only with modes.
[[nodiscard]] message::Offer agreed(message::Offer offer, const LandingOptions& options);
/// A random number for names of temporary files.
[[nodiscard]] std::uint64_t random_number();
/// True if there are entries besides this program's own files, or if the directory cannot be read.
[[nodiscard]] bool holds_anything(const ConfinedDir& directory);
[[nodiscard]] bool holds_anything(const std::vector<std::string>& names);
/// What the receiver has at the end, for CONFIRM.
[[nodiscard]] message::Totals totals_of(const JobReport& report);

// The destinations. All arguments outlive them, except that the offer is copied.

/// Writes a tree below `base`, as the offer says.
[[nodiscard]] std::unique_ptr<Landing> land_tree(const ConfinedDir& base, const message::Offer& offer,
                                                 const LandingOptions& options, LandingReport& report);
/// A dry run: reports what would happen to each entry, and changes nothing. `base`: null if the directory does not
/// exist.
[[nodiscard]] std::unique_ptr<Landing> land_nowhere(const ConfinedDir* base, const message::Offer& offer,
                                                    const LandingOptions& options, LandingReport& report);
/// Writes a stream to the file that the offer names. Refuses it if an existing entry must stay.
[[nodiscard]] std::unique_ptr<Landing> land_file(const ConfinedDir& base, const message::Offer& offer,
                                                 const LandingOptions& options, LandingReport& report);
/// Writes a stream to a descriptor and waits for its reader until `stop`.
[[nodiscard]] std::unique_ptr<Landing> land_pipe(int fd, const message::Offer& offer, const StopEvent& stop,
                                                 LandingReport& report);
/// Drops a stream: the sender measures the path.
[[nodiscard]] std::unique_ptr<Landing> land_probe(LandingReport& report);

}  // namespace udtx::transfer

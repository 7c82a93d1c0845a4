// The files that the earlier connections of a transfer have sent. A receiver that was killed may not know that it
// received a file. A later connection then finds the file as if it had always existed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transfer/bounded_queue.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/source/scanner.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/transfer/plan.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

/// One thread at a time. An entry has sixteen bytes, since there may be millions of files.
class SentNames {
  public:
    /// Starts another connection: all names added so far belong to earlier ones.
    void begin_connection() {
        earlier_.insert(earlier_.end(), added_.begin(), added_.end());
        added_.clear();
        std::sort(earlier_.begin(), earlier_.end(), std::greater<>());
        const auto same_name = [](const Sent& a, const Sent& b) { return a.first == b.first; };
        earlier_.erase(std::unique(earlier_.begin(), earlier_.end(), same_name), earlier_.end());
    }
    void add(std::string_view path, std::uint64_t bytes) { added_.emplace_back(path_key(path), bytes); }
    /// The bytes that an earlier connection sent of that file, if it sent the whole file.
    [[nodiscard]] std::optional<std::uint64_t> earlier(std::string_view path) const {
        const std::uint64_t key = path_key(path);
        const auto at = std::lower_bound(earlier_.begin(), earlier_.end(), key,
                                         [](const Sent& sent, std::uint64_t wanted) { return sent.first > wanted; });
        return at != earlier_.end() && at->first == key ? std::optional(at->second) : std::nullopt;
    }

  private:
    using Sent = std::pair<std::uint64_t, std::uint64_t>;
    std::vector<Sent> earlier_;  // by descending key, with the largest number of each key
    std::vector<Sent> added_;
};

// How the sources are read and announced.

struct ReadOptions : Selection {
    PlanCallback planned{};                     ///< gets the plan of a dry run
    std::vector<message::Rules> erase_rules{};  ///< sent before everything else
    bool announce_all = false;                  ///< also files that are the same at the receiver, for a receipt
    SentNames* sent = nullptr;                  ///< of all connections; outlives the reader
    bool tops = false;  ///< for a source whose contents are sent: send its mode, time and owner too
    /// The receiver requested the transfer: it gets the plan of a dry run, and a report of what is left out.
    bool asked_for = false;
    /// The round-trip time is long: small files are sent before the receiver has said what it has of them.
    bool far = false;
};

// Items that the sender's disk side hands to the protocol thread. They are packed so that small files are cheap.

/// The control bytes are sent before the data, so an entry is always announced before its data.
struct Outgoing {
    std::vector<std::byte> control;
    Chunk data;
    std::optional<message::Finish> finish;  ///< the last item; its message is part of `control`
};

inline constexpr std::size_t kMaxOutgoingBytes = 8U << 20U;
/// A queue that also supplies the blocks for file data.
class OutgoingQueue : public BoundedQueue<Outgoing> {
  public:
    explicit OutgoingQueue(std::size_t max_cost);
    [[nodiscard]] Chunk block() { return blocks_.take(); }
    /// Does the same as cancel(), and frees the idle blocks.
    void end() {
        cancel();
        blocks_.keep_none();
    }
    /// Any thread: memory of the queued items and of idle blocks.
    [[nodiscard]] std::uint64_t held() const { return cost() + blocks_.idle_bytes(); }

  private:
    ChunkPool blocks_;
};

class OutgoingPacker {
  public:
    OutgoingPacker(OutgoingQueue& queue, LateWaker& waker);

    /// Records every message in the receipt as well.
    void copy_to(ReceiptWriter* receipt) { receipt_ = receipt; }
    void message(const Message& message);
    /// Space for file data, never empty; fill it from the front, then call advance().
    [[nodiscard]] std::span<std::byte> space();
    void advance(std::size_t bytes);
    /// Queues what is pending. False: the protocol side has ended.
    bool flush();
    void finish(const message::Finish& finish);
    [[nodiscard]] std::size_t pending() const noexcept { return used_ - begin_ + control_.bytes().size(); }
    /// True if nothing new should be started.
    [[nodiscard]] bool full() const { return queue_.full(); }
    /// closed(): the protocol side has ended. stopped(): a flush() has noticed that.
    [[nodiscard]] bool closed() const { return queue_.closed(); }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  private:
    OutgoingQueue& queue_;
    LateWaker& waker_;
    ReceiptWriter* receipt_ = nullptr;
    MessageWriter control_;
    Chunk chunk_;
    std::size_t begin_ = 0;  // start of the data that was not queued yet
    std::size_t used_ = 0;
    bool stopped_ = false;
};

// The sender's counts of files: what remains to be sent, what exists at the receiver, and what failed.

class SourceCounts {
  public:
    /// Both outlive it. `sent`: what other connections of the transfer have sent; null: not tracked.
    SourceCounts(SentNames* sent, JobReport& report) : sent_(sent), report_(report) {}

    /// The file is the next one.
    void meet(const ScannedEntry& entry);
    /// The file is being sent.
    void begin(const ScannedEntry& entry);
    /// The file is done, with `sent` bytes of the stream.
    void end(const ScannedEntry& entry, std::uint64_t sent);
    /// The whole file was sent, in `sent` bytes.
    void sent_whole(const ScannedEntry& entry, std::uint64_t sent);
    /// A link was sent.
    void sent_link(const ScannedEntry& entry) { report_.sent(entry.path, 0, entry.root); }
    /// The file exists at the receiver, which does not count it as delivered by this connection.
    void stands(const ScannedEntry& entry);
    /// An earlier run delivered the file.
    void kept_file(const ScannedEntry& entry);
    /// `bytes` need not be sent; `compared` of them were already counted by compared().
    void kept(std::uint64_t bytes, std::uint64_t compared);
    /// compared(): so many bytes are the same at the receiver. sent_anyway(): bytes counted so are sent after all.
    void compared(std::uint64_t same);
    void sent_anyway(std::uint64_t same);
    void fail(const ScannedEntry& entry, FileStatus status, int error_number);
    void fail(const ScannedEntry& entry, Error error);
    /// The error of a file that changed while it was read.
    [[nodiscard]] static Error changed(const ScannedEntry& entry);

  private:
    SentNames* sent_;
    JobReport& report_;
};

}  // namespace udtx::transfer

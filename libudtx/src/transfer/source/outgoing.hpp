// What the sender's disk side hands to the protocol thread: entries, data, counts and failures.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/state_access.hpp"
#include "transfer/bounded_queue.hpp"
#include "transfer/file/belongings.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/message_codec.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

// The files that the earlier connections of a transfer have sent. A receiver that was killed may not know that it
// received a file. A later connection then finds the file as if it had always existed.

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

/// The record that SendOptions::sent refers to; null: there is none.
[[nodiscard]] inline SentNames* sent_names(const SendOptions& options) {
    return options.sent ? StateAccess::of(*options.sent).get() : nullptr;
}

/// What is known of a run when reading starts, besides the options.
struct ReadRun {
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

/// A queue that also supplies the blocks for file data.
class OutgoingQueue : public BoundedQueue<Outgoing> {
  public:
    static constexpr std::size_t kBlockBytes = 1U << 20U;

    OutgoingQueue() : BoundedQueue<Outgoing>(kMaxBytes), blocks_(kBlockBytes, kIdleBlocks) {}
    [[nodiscard]] Chunk block() { return blocks_.take(); }
    /// Does the same as cancel(), and frees the idle blocks.
    void end() {
        cancel();
        blocks_.keep_none();
    }
    /// Any thread: memory of the queued items and of idle blocks.
    [[nodiscard]] std::uint64_t held() const { return cost() + blocks_.idle_bytes(); }

  private:
    static constexpr std::size_t kMaxBytes = 8U << 20U;
    static constexpr std::size_t kIdleBlocks = 16;

    ChunkPool blocks_;
};

class OutgoingPacker {
  public:
    /// `receipt`: records every message as well, if it is not null.
    OutgoingPacker(OutgoingQueue& queue, LateWaker& waker, ReceiptWriter* receipt = nullptr)
        : queue_(queue), waker_(waker), receipt_(receipt) {}

    void message(const Message& message);
    /// Space for file data, never empty; fill it from the front, then call advance().
    [[nodiscard]] std::span<std::byte> space();
    void advance(std::size_t bytes) { used_ += bytes; }
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
    void push(Outgoing item, std::size_t cost);

    OutgoingQueue& queue_;
    LateWaker& waker_;
    ReceiptWriter* receipt_;
    MessageWriter control_;
    Chunk chunk_;
    std::size_t begin_ = 0;  // start of the data that was not queued yet
    std::size_t used_ = 0;
    bool stopped_ = false;
};

// What is said about an entry: to the receiver in messages, and in the report of this end.

/// Counts the entry of a dry run as if it were done.
void count_planned(const PlannedEntry& entry, Progress& progress, Outcome& outcome);

/// At the end it reports the attributes that are never sent.
class Announcer {
  public:
    /// Whether META also removes attributes that only the receiver's version has.
    enum class Others { none, go };

    /// All arguments outlive it.
    Announcer(const std::vector<SourceRoot>& roots, const SendOptions& options, const ReadRun& run,
              OutgoingPacker& packer, JobReport& report)
        : roots_(roots),
          options_(options),
          what_(options.what),
          run_(run),
          sent_(sent_names(options)),
          packer_(packer),
          report_(report) {}

    // --- to the receiver
    /// Sends ENTRY under the next index, and returns that index.
    std::uint64_t announce(message::Entry m, const std::string& path);
    /// Sends ENTRY of a directory or a link.
    void announce(const ScannedEntry& entry);
    /// Announces a directory or a link, with its attributes.
    void announce_unread(const ScannedEntry& entry);
    /// Announces the attributes of the destination: those of the first source without a name of its own.
    void announce_top();
    /// Announces a file whose content exists at the receiver, with its attributes.
    void announce_kept(const ScannedEntry& entry);
    /// Announces an unreadable file, so that the receiver knows of it and of the failure.
    void announce_unreadable(const ScannedEntry& entry, FileStatus why, int error_number);
    /// Sends META of the latest entry, if there is something to say. `open_error`: why it could not be opened.
    void send_meta(const ScannedEntry& entry, int fd, Others others, int open_error = 0);
    /// Adds the attributes of the entry to the query.
    void add_belongings(const ScannedEntry& entry, message::Query& query);
    /// True if owner or attributes are sent.
    [[nodiscard]] bool tells_meta() const noexcept { return what_.owner || what_.attributes; }
    /// Number of entries so far.
    [[nodiscard]] std::uint64_t count() const noexcept { return next_index_; }
    /// Reports all that was left out. The receiver's user gets the report too, if the receiver requested the transfer.
    void tell_left_out();

    // --- the plan of a dry run: what a real run would do. Outside of a dry run these do nothing.
    void plan(PlannedEntry::Kind kind, const ScannedEntry& entry, std::uint8_t changes);
    /// Plans a directory or a link, by what the receiver has of it.
    void plan_unread(const ScannedEntry& entry, Holding has, std::uint8_t changes);
    /// Plans a file that would be sent.
    void plan_changed(const ScannedEntry& entry, std::uint8_t changes);

    // --- in the report of this end
    /// The entry is the next one. Special bits of its mode may be left out.
    void meet(const ScannedEntry& entry);
    /// Reports that the mode of the entry is sent without rights of others, as its access control list cannot be read.
    /// `error_number`: why; 0: it was read.
    void note_limited(const ScannedEntry& entry, int error_number);
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
    /// The file was longer at the end of reading than at the start, and is sent as it was then.
    void note_grown(const ScannedEntry& entry) { grown_.add(entry.path); }
    void fail(const ScannedEntry& entry, const Error& why) { report_.fail(entry.path, why); }
    /// The error of a file that changed while it was read.
    [[nodiscard]] static Error changed(const ScannedEntry& entry);

  private:
    void warn_of(const CountedPaths& left, const char* what) const;
    /// Opens the entry, and sends META of the latest entry, which is its entry.
    void send_meta_of(const ScannedEntry& entry);
    /// Reports attributes that are not sent.
    void note_lost(const ScannedEntry& entry, const AttributesLeft& left);

    const std::vector<SourceRoot>& roots_;
    const SendOptions& options_;
    const Selection& what_;
    const ReadRun& run_;
    SentNames* const sent_;  // null: nothing is recorded
    OutgoingPacker& packer_;
    JobReport& report_;
    std::uint64_t next_index_ = 0;
    std::uint64_t reported_ = UINT64_MAX;        // index of the latest entry whose lost attributes are reported
    CountedPaths special_bits_;                  // entries whose special bits are not kept
    CountedPaths capabilities_;                  // files with capabilities
    CountedPaths access_lists_;                  // entries with access control lists
    CountedPaths grown_;                         // files that grew while they were read
    std::unordered_set<std::uint64_t> changed_;  // with hard_links: files that a dry run would send, by path key
};

}  // namespace udtx::transfer

// Turns what arrives at a receiver into checked operations for the landing: the messages of the control stream, and the
// bytes of the data stream.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/job_report.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::transfer {

// Bytes of the data stream that arrived before their announcement on the control stream; one lost control packet is
// enough. The stream's flow-control window bounds them for any pattern: blocks have a fixed size, with one bit for each
// byte.

class EarlyData {
  public:
    void hold(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Calls fn(offset, bytes) for all bytes held below `end`, in ascending order, and forgets them.
    template <class Fn>
    void release_below(std::uint64_t end, Fn&& fn) {
        while (!blocks_.empty() && blocks_.begin()->first < end) {
            const std::uint64_t base = blocks_.begin()->first;
            const std::size_t limit = end - base < kBlock ? static_cast<std::size_t>(end - base) : kBlock;
            Block& block = *blocks_.begin()->second;
            std::size_t at = 0;
            for (Run run = next_run(block, at, limit); run.begin < run.end; run = next_run(block, at, limit)) {
                fn(base + run.begin, std::span<const std::byte>(block.bytes).subspan(run.begin, run.end - run.begin));
                at = run.end;
            }
            if (limit < kBlock) {
                if (!clear_below(block, limit)) return;
            }
            blocks_.erase(blocks_.begin());
        }
    }
    [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }
    /// Total memory. It is at most 1.13 times the span of offsets that may arrive (the stream's window), plus two
    /// blocks.
    [[nodiscard]] std::size_t held_bytes() const noexcept { return blocks_.size() * (sizeof(Block) + kNodeBytes); }
    void clear() { blocks_.clear(); }

  private:
    static constexpr std::size_t kBlock = 64U << 10U;
    static constexpr std::size_t kNodeBytes = 96;  // of the map's node and of two allocations
    struct Block {
        std::array<std::byte, kBlock> bytes;
        std::array<std::uint64_t, kBlock / 64> present{};
    };
    struct Run {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    [[nodiscard]] static Run next_run(const Block& block, std::size_t at, std::size_t limit);
    /// True: the block is empty.
    static bool clear_below(Block& block, std::size_t limit);

    std::map<std::uint64_t, std::unique_ptr<Block>> blocks_;  // by stream offset of the block
};

// Assembles the bytes of the data stream into whole pieces, on the protocol thread.

class PieceAssembler {
  public:
    PieceAssembler();

    void begin_file(std::uint64_t file) noexcept { map_.begin_file(file); }
    /// Announces more data of the latest file. False: more than a stream can hold.
    [[nodiscard]] bool announce(const Extent& extent);
    /// Skips data of the latest file that is not sent.
    void skip(const Extent& extent) { map_.skip(extent); }
    /// Takes bytes in any cut and any order. The transport delivers each byte once.
    void on_bytes(std::uint64_t stream_offset, std::span<const std::byte> bytes);
    /// The pieces that have become complete; the caller clears the list.
    [[nodiscard]] std::vector<WholePiece>& whole() noexcept { return whole_; }

    [[nodiscard]] const PieceMap& map() const noexcept { return map_; }
    /// True if all announced data has arrived.
    [[nodiscard]] bool complete() const noexcept { return map_.open_extents() == 0; }
    /// Total memory, without idle buffers.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return early_.held_bytes() + slot_bytes_ + map_.open_extents() * sizeof(Slot);
    }
    /// True if it holds bytes that were not announced.
    [[nodiscard]] bool has_unannounced() const noexcept { return !early_.empty(); }

  private:
    struct Slot {
        Piece piece;
        Chunk data;
        std::uint64_t received = 0;
    };
    [[nodiscard]] Slot* slot_at(std::uint64_t stream_offset);
    void place(Slot& slot, std::uint64_t stream_offset, std::span<const std::byte> bytes);
    [[nodiscard]] Chunk buffer_for(std::uint64_t length);

    PieceMap map_;
    EarlyData early_;
    ChunkPool pool_;
    std::unordered_map<std::uint64_t, Slot> slots_;  // by the piece's stream offset
    std::uint64_t slot_bytes_ = 0;
    Slot* latest_ = nullptr;  // most packets continue where the last one ended
    std::vector<WholePiece> whole_;
};

/// Only the protocol thread calls it, except where a member says otherwise.
class Incoming {
  public:
    /// All arguments outlive it. `base`: nullopt if no file is touched. In a pull it is opened once the server has
    /// answered with its sources.
    Incoming(const LandingOptions& options, std::optional<PullOrder>& pull, std::optional<ConfinedDir>& base,
             ReceiveQueue& queue, LandingReport& report);

    /// refused, file_io: this receiver does not take it. Any other error: the sender breaks the protocol.
    Result<void> take(const Message& message);
    /// Takes data of a tree, in any order. True: a piece is complete, or the sender sent more than it announced.
    bool take_piece(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Takes data of a stream, in order. Call it only if takes_stream().
    void take_stream(Chunk bytes, bool end);
    [[nodiscard]] bool takes_stream() const;
    /// Queues the complete pieces, and FINISH once all are complete. protocol: there is more data than was announced.
    Result<void> hand_over();

    /// True: the landing must finish some work before more announcements are read.
    [[nodiscard]] bool too_far_ahead() const;
    [[nodiscard]] const std::optional<message::Offer>& offer() const noexcept { return offer_; }
    [[nodiscard]] bool finished() const noexcept { return finish_.has_value(); }
    /// Any thread: bytes of incomplete pieces and of unannounced data.
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }

    /// Fails the requested names that have not arrived. It returns those that the sender must be told.
    [[nodiscard]] std::vector<message::FileFailed> fail_absent(AskedFor::Questions questions);
    /// At the end: the number of entries that the sender could not read and cannot name.
    [[nodiscard]] std::uint64_t unnamed() const;
    /// Takes the attributes that the sender could not read, as it reported them. Later calls return nothing.
    [[nodiscard]] std::vector<Unset> take_sender_lacks();

  private:
    /// What has come.
    enum class Stage : std::uint8_t {
        silent,
        sources,  ///< of a pull: the server has answered with SOURCES
        offer,
        finish,
        all_data,  ///< too, and the landing got FINISH
    };
    static constexpr Step<Stage> kSteps[] = {{Stage::silent, Stage::sources},
                                             {Stage::silent, Stage::offer},
                                             {Stage::sources, Stage::offer},
                                             {Stage::offer, Stage::finish},
                                             {Stage::finish, Stage::all_data}};
    /// The file that EXTENTS, DIGESTS and FILE_END refer to.
    struct CurrentFile {
        std::uint64_t index = 0;
        std::uint64_t size = 0;
        std::uint64_t announced_to = 0;  // file offset
        std::uint64_t announced = 0;     // bytes
        bool whole = false;
    };

    /// Checks that a message of this kind may come now.
    template <class M>
    [[nodiscard]] Result<void> check_turn() const;
    template <class M>
    Result<void> handle(const M& /*m*/) {
        return broken("the sender sent a receiver's message");
    }
    Result<void> handle(const message::Offer& m);
    Result<void> handle(const message::Entry& m);
    Result<void> handle(const message::Extents& m);
    Result<void> handle(const message::Kept& m);
    Result<void> handle(const message::Query& m);
    Result<void> handle(const message::Meta& m);
    Result<void> handle(const message::Rules& m);
    Result<void> handle(const message::Unsent& m);
    Result<void> handle(const message::Digests& m);
    Result<void> handle(const message::FileEnd& m);
    Result<void> handle(const message::Finish& m);
    Result<void> handle(const message::Plan& m);
    Result<void> handle(const message::Note& m);
    Result<void> handle(const message::Unset& m);
    Result<void> handle(const message::Found& m);
    Result<void> handle(const message::Paths& m);
    /// Handles the server's answer to our request.
    Result<void> handle(const message::Sources& m);
    void queue_rules(message::Rules m);
    /// Checks a part of a file: a shard may have it, and a pull asked for it.
    [[nodiscard]] Result<void> check_bytes(const std::vector<std::string>& path, std::uint64_t size,
                                           const std::optional<FileRange>& part) const;
    /// Why this receiver refuses the offer; success: it takes it.
    [[nodiscard]] Result<void> check_offer(const message::Offer& m) const;
    /// Checks that the name is valid and was asked for.
    Result<void> check_entry(EntryType type, const std::vector<std::string>& path, const std::string& target);
    /// Checks against the request of a pull.
    template <class... Args>
    [[nodiscard]] Result<void> check_asked(const Args&... args) const;
    /// The path under its local name.
    [[nodiscard]] std::vector<std::string> renamed(std::vector<std::string> path) const;
    [[nodiscard]] std::string renamed(const std::string& path) const { return join_path(renamed(split_path(path))); }
    [[nodiscard]] message::Entry renamed(message::Entry entry) const;
    /// Records the message in the receipt, under the local names.
    void note(const Message& message);
    /// Reports the totals: what was announced, or what the sender has found if that is more.
    void tell_totals();
    Result<void> announce(const Extent& extent);
    /// Checks that an extent of the current file follows the last one and lies within the file.
    Result<void> place(const Extent& extent, std::uint64_t longest);
    /// Queues the gap between the last extent and this offset as a hole, if there is one.
    void note_hole(std::uint64_t end);
    bool hand_over_pieces();  // true: there were some

    const LandingOptions& options_;
    std::optional<PullOrder>& pull_;
    std::optional<ConfinedDir>& base_;
    std::string rename_;
    ReceiveQueue& queue_;
    LandingReport& report_;
    Lifecycle<kSteps> stage_{Stage::silent};
    std::optional<message::Offer> offer_;
    PieceAssembler assembler_;
    std::atomic<std::uint64_t> held_{0};
    std::uint64_t next_index_ = 0;
    std::optional<CurrentFile> current_;
    message::Found announced_;  // without what was taken back
    message::Found found_;      // by the sender
    std::optional<message::Finish> finish_;
    bool data_ended_ = false;
    std::uint64_t absent_ = 0;  // of the requested names
    std::size_t notes_ = 0;
    std::vector<Unset> sender_lacks_;
};

}  // namespace udtx::transfer

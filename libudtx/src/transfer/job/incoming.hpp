// Checks each message of the sender's control stream against the earlier ones and turns it into operations for the
// landing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/job/asked_for.hpp"
#include "transfer/job_report.hpp"
#include "transfer/landing/landing.hpp"
#include "transfer/landing/piece_assembler.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::transfer {

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
    bool answered_ = false;  // pull: the server has answered with SOURCES
    std::optional<message::Offer> offer_;
    PieceAssembler assembler_;
    std::atomic<std::uint64_t> held_{0};
    std::uint64_t next_index_ = 0;
    std::optional<CurrentFile> current_;
    message::Found announced_;  // without what was taken back
    message::Found found_;      // by the sender
    std::optional<message::Finish> finish_;
    bool finish_queued_ = false;
    bool data_ended_ = false;
    std::uint64_t absent_ = 0;  // of the requested names
    std::size_t notes_ = 0;
    std::vector<Unset> sender_lacks_;
};

}  // namespace udtx::transfer

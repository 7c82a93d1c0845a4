// What the sender says on the control stream, checked message by message against what it said before, and turned into
// operations for the landing.
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
#include "transfer/landing/receive_feedback.hpp"
#include "transfer/landing/receive_ops.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/pieces/piece_assembler.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct ReceiveJobOptions;

/// Of the protocol thread, but for what says otherwise.
class Announcements {
  public:
    /// All outlive it. `base`: none where no file is touched; a pull opens it when the server has said what there is.
    Announcements(ReceiveJobOptions& options, std::optional<ConfinedDir>& base, ReceiveQueue& queue,
                  ReceiveFeedback& feedback, JobReport& report);

    /// refused, file_io: it is not taken here. Anything else: the sender breaks the protocol.
    Result<void> take(const Message& message);
    /// Data of a tree, in any order. True: a piece has become whole, or the sender says more than it announced.
    bool take_placed(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Data of a stream, in order. Only if takes_stream().
    void take_stream(Chunk bytes, bool end);
    [[nodiscard]] bool takes_stream() const;
    /// Hands over what has become whole, and FINISH when all has. protocol: there is more than was announced.
    Result<void> hand_over();

    /// Of this much the landing has to get something done first.
    [[nodiscard]] bool too_far_ahead() const;
    [[nodiscard]] const std::optional<message::Offer>& offer() const noexcept { return offer_; }
    [[nodiscard]] bool finished() const noexcept { return finish_.has_value(); }
    /// Any thread: bytes of pieces that are not whole, and of what is not announced.
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }

    /// Fails what was asked for and has not come. Of that, what the sender is to be told.
    [[nodiscard]] std::vector<message::FileFailed> fail_absent(AskedFor::Questions questions);
    /// At the end: so many entries the sender could not read and cannot name.
    [[nodiscard]] std::uint64_t unnamed() const;
    /// What the sender could not read, and so knows. Once.
    [[nodiscard]] std::vector<Unset> take_sender_lacks();

  private:
    /// The file that EXTENTS, DIGESTS and FILE_END are about.
    struct CurrentFile {
        std::uint64_t index = 0;
        std::uint64_t size = 0;
        std::uint64_t announced_to = 0;  // file offset
        std::uint64_t announced = 0;     // bytes
        bool whole = false;
    };

    Result<void> handle(const Message& message);
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
    /// The server's answer to our request.
    Result<void> handle(const message::Sources& m);
    void queue_rules(message::Rules m);
    /// Why an offer is none that this receiver takes.
    /// A part of a file that a shard may have.
    [[nodiscard]] Result<void> check_bytes(const std::vector<std::string>& path, std::uint64_t size,
                                           const std::optional<FileRange>& part) const;
    [[nodiscard]] Result<void> check_offer(const message::Offer& m) const;
    /// A name that can be had, and that was asked for.
    Result<void> check_entry(EntryType type, const std::vector<std::string>& path, const std::string& target);
    /// As it is to be called here.
    [[nodiscard]] std::vector<std::string> renamed(std::vector<std::string> path) const;
    /// For the receipt, under the names that things have here.
    void note(const Message& message);
    /// What there is to do: announced, or, if that is more, found by the sender.
    void tell_totals();
    Result<void> announce(const Extent& extent);
    /// Checks that an extent of the current file comes after the last one and inside of the file.
    Result<void> place(const Extent& extent, std::uint64_t longest);
    /// Between the last extent and this offset, if they do not meet.
    void note_hole(std::uint64_t end);
    bool hand_over_pieces();  // true: there were some

    ReceiveJobOptions& options_;
    std::optional<ConfinedDir>& base_;
    std::string rename_;
    ReceiveQueue& queue_;
    ReceiveFeedback& feedback_;
    JobReport& report_;
    bool placed_ = false;  // of a pull: the server has said what there is
    std::optional<message::Offer> offer_;
    PieceAssembler assembler_;
    std::atomic<std::uint64_t> held_{0};
    std::uint64_t next_index_ = 0;
    std::optional<CurrentFile> current_;
    message::Found announced_;  // and not taken back
    message::Found found_;      // by the sender
    std::optional<message::Finish> finish_;
    bool finish_queued_ = false;
    bool data_ended_ = false;
    std::uint64_t absent_ = 0;  // of what was asked for
    std::size_t notes_ = 0;
    std::vector<Unset> sender_lacks_;
};

}  // namespace udtx::transfer

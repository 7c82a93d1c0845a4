// State of a ReceiveJob on the protocol thread, and its writer thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "transfer/confined_dir.hpp"
#include "transfer/job_report.hpp"
#include "transfer/messages.hpp"
#include "transfer/piece_assembler.hpp"
#include "transfer/receive_feedback.hpp"
#include "transfer/receive_job.hpp"
#include "transfer/receive_ops.hpp"
#include "transfer/stop_event.hpp"

namespace udtx::transfer {

class ReceiveJob::Impl {
  public:
    Impl(ReceiveOptions options, std::optional<ConfinedDir> base, DoneCallback done);
    ~Impl();

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event);
    void on_wake(Instant now, proto::Connection& connection);
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes);
    /// Fails the job (once) and closes the connection.
    void end(Instant now, proto::Connection& connection, const Error& error);

    LateWaker waker;
    JobReport report;

  private:
    /// The file that EXTENTS, DIGESTS and FILE_END are about.
    struct CurrentFile {
        std::uint64_t index = 0;
        std::uint64_t size = 0;
        std::uint64_t announced_to = 0;  // file offset
        bool whole = false;
    };

    void on_stream(Instant now, proto::Connection& connection, StreamId id);
    /// Reads both ordered streams as far as the writer keeps up, then hands over what has become whole.
    void advance(Instant now, proto::Connection& connection);
    void read_control(Instant now, proto::Connection& connection);
    void read_data(Instant now, proto::Connection& connection);
    [[nodiscard]] bool too_far_ahead() const;
    Result<void> handle(const Message& message);
    Result<void> handle(const message::Offer& m);
    Result<void> handle(const message::Entry& m);
    Result<void> handle(const message::Extents& m);
    Result<void> handle(const message::Digests& m);
    Result<void> handle(const message::FileEnd& m);
    Result<void> handle(const message::Finish& m);
    Result<void> announce(const Extent& extent);
    void hand_over_pieces();
    Result<void> finish_if_complete();
    void send(Instant now, proto::Connection& connection, const Message& message);
    void start_worker();
    void on_closed(const proto::CloseReason& reason);
    /// The first cause stays.
    void set_status(Result<void> status);
    void settle();

    ReceiveOptions options_;
    std::optional<ConfinedDir> base_;
    DoneCallback done_;

    ReceiveFeedback feedback_{waker};
    ReceiveQueue queue_{SIZE_MAX};  // the stream's window bounds the pieces, too_far_ahead() the rest
    StopEvent stop_;
    std::thread worker_;

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    std::optional<message::Offer> offer_;
    PieceAssembler assembler_;
    std::uint64_t next_index_ = 0;
    std::optional<CurrentFile> current_;
    std::optional<message::Finish> finish_;
    bool accepted_sent_ = false;
    bool finish_queued_ = false;
    bool data_ended_ = false;
    bool confirm_sent_ = false;
    bool ended_ = false;
    std::optional<Instant> last_delivered_;
    std::uint64_t delivered_files_ = 0;
    std::uint64_t delivered_bytes_ = 0;

    std::mutex status_mutex_;
    std::optional<Result<void>> status_;
    bool settled_ = false;
};

}  // namespace udtx::transfer

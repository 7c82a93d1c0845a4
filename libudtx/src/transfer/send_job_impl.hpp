// State of a SendJob on the protocol thread, and its disk threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "transfer/job_report.hpp"
#include "transfer/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/outgoing.hpp"
#include "transfer/pipe_reader.hpp"
#include "transfer/scanner.hpp"
#include "transfer/send_job.hpp"
#include "transfer/source_reader.hpp"

namespace udtx::transfer {

class SendJob::Impl {
  public:
    Impl(SendOptions options, std::vector<SourceRoot> roots, bool stream, DoneCallback done);
    ~Impl();

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event);
    /// Moves what the disk threads have ready into the streams, as far as they take it.
    void pump(Instant now, proto::Connection& connection);
    /// Ends the job (once) and closes the connection; an `error` without value is the orderly end.
    void end(Instant now, proto::Connection& connection, Result<void> status);

    LateWaker waker;
    JobReport report;

  private:
    void start(Instant now, proto::Connection& connection);
    void start_threads();
    void stop_threads();
    void read_control(Instant now, proto::Connection& connection);
    Result<void> handle(const Message& message);
    Result<void> handle(const message::Accept& m);
    Result<void> handle(const message::FileFailed& m);
    Result<void> handle(const message::Delivered& m);
    Result<void> handle(const message::Confirm& m);
    void on_closed(const proto::CloseReason& reason);
    void settle(Result<void> status);

    SendOptions options_;
    std::vector<SourceRoot> roots_;
    bool stream_;
    DoneCallback done_;

    ScanQueue scanned_{kMaxScanQueueBytes};
    OutgoingQueue outgoing_{kMaxOutgoingBytes};
    std::optional<Scanner> scanner_;
    std::optional<SourceReader> reader_;
    std::optional<PipeReader> pipe_;
    std::vector<std::thread> threads_;

    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    MessageReader incoming_;
    std::optional<Outgoing> held_;  // taken from the queue, waiting for room in a stream
    std::optional<message::Finish> finish_;
    std::optional<Result<void>> confirmed_;
    std::uint64_t sent_bytes_ = 0;
    std::uint64_t receiver_failures_ = 0;
    bool settled_ = false;
};

}  // namespace udtx::transfer

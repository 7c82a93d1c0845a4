// The receiving side of a transfer, on one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proto/application.hpp"
#include "transfer/report.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct ReceiveOptions {
    std::string directory;     ///< nothing is written outside of it; must exist
    bool to_stream = false;    ///< write the one incoming stream to `stream_fd` and touch no file
    int stream_fd = 1;         ///< not closed by the job
    Role role = Role::server;  ///< our end of the connection
};

/// Order of calls: as for SendJob. One job serves one connection and one transfer.
class ReceiveJob final : public proto::ConnectionHandler {
  public:
    /// Opens the directory: file_io names what is wrong with it.
    static Result<std::unique_ptr<ReceiveJob>> create(ReceiveOptions options, DoneCallback done);
    /// Ends as after a lost connection (temporary files go), then joins the disk threads.
    ~ReceiveJob() override;
    ReceiveJob(const ReceiveJob&) = delete;
    ReceiveJob& operator=(const ReceiveJob&) = delete;

    /// Any thread.
    void set_waker(proto::Waker waker);
    /// Any thread.
    [[nodiscard]] Progress progress() const;
    /// Any thread; final once the DoneCallback was called (which is after the connection's end), before that what is
    /// known so far.
    [[nodiscard]] Outcome result() const;
    /// Protocol thread: closes the connection with `code`; later calls do nothing.
    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason);

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    class Impl;
    explicit ReceiveJob(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::transfer

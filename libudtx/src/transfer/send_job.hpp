// The sending side of a transfer, on one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/application.hpp"
#include "transfer/checksum.hpp"
#include "transfer/report.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

struct SendOptions {
    /// Files and directories; each arrives under its last component (the contents of `.`, `..` and `/` arrive
    /// without one). A single "-" streams `stream_fd` instead.
    std::vector<std::string> sources;
    /// Path below the receiver's directory; for "-" it names the file. Leading and trailing slashes are ignored.
    std::string destination;
    bool preserve = false;  ///< full modes and modification times
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    Role role = Role::client;  ///< our end of the connection: the dialling one opens the control stream
    int stream_fd = 0;         ///< not closed by the job
};

/// Order of calls: create(), set_waker() (before the first event or during it), then as ConnectionHandler on the
/// protocol thread. When the receiver has confirmed, the job closes the connection with code 0. The destructor stops
/// and joins the disk threads.
class SendJob final : public proto::ConnectionHandler {
  public:
    /// Looks at the sources: invalid_argument or file_io names the one that is missing, unreadable or doubled.
    static Result<std::unique_ptr<SendJob>> create(SendOptions options, DoneCallback done);
    ~SendJob() override;
    SendJob(const SendJob&) = delete;
    SendJob& operator=(const SendJob&) = delete;

    /// Any thread.
    void set_waker(proto::Waker waker);
    /// Any thread.
    [[nodiscard]] Progress progress() const;
    /// Any thread; final once the DoneCallback was called, before that what is known so far.
    [[nodiscard]] Outcome result() const;
    /// Protocol thread: closes the connection with `code`; later calls do nothing.
    void abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason);

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    class Impl;
    explicit SendJob(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::transfer

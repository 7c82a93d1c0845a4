// Reads standard input (or any descriptor) for a stream transfer, as a disk task.
#pragma once

#include <cstdint>

#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/stop_event.hpp"

namespace udtx::transfer {

class PipeReader {
  public:
    PipeReader(int fd, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker, JobReport& report);
    /// Goes on to the end of the input, to stop(), or until the queue was closed; rests while that is full, but waits
    /// for whoever feeds a pipe. After a read error no FINISH is queued; the failure is in the report.
    [[nodiscard]] DiskStep step();
    /// Any thread.
    void stop() noexcept { stop_.stop(); }

  private:
    int fd_;
    OutgoingPacker packer_;
    LateWaker& waker_;
    Hasher hasher_;
    JobReport& report_;
    StopEvent stop_;
    std::uint64_t bytes_ = 0;
};

}  // namespace udtx::transfer

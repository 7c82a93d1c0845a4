// Reads standard input (or any descriptor) for a stream transfer, as a disk task.
#pragma once

#include <cstdint>
#include <string>

#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/stop_event.hpp"

namespace udtx::transfer {

class PipeReader {
  public:
    /// `name`: for reports.
    PipeReader(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker, JobReport& report);
    /// Continues until the end of the input, stop(), or a closed queue. It rests while the queue is full, but blocks
    /// while a pipe has no data. After a read error it queues no FINISH; the report has the failure.
    [[nodiscard]] DiskStep step();
    /// Any thread.
    void stop() noexcept { stop_.stop(); }

  private:
    int fd_;
    const std::string name_;
    OutgoingPacker packer_;
    LateWaker& waker_;
    Hasher hasher_;
    JobReport& report_;
    StopEvent stop_;
    std::uint64_t bytes_ = 0;
};

}  // namespace udtx::transfer

// Reads standard input (or any descriptor) for a stream transfer, as a disk task.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "transfer/checksum.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/outgoing.hpp"

namespace udtx::transfer {

class PipeReader {
  public:
    /// `name`: for reports.
    PipeReader(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker, JobReport& report);
    /// Continues until the end of the input, stop(), or a closed queue. It rests while the queue is full, but blocks
    /// while a pipe has no data. It reads a file a second time if that changed meanwhile. After a read error, or if the
    /// second reading differs, it queues no FINISH; the report has the failure.
    [[nodiscard]] DiskStep step();
    /// Any thread.
    void stop() noexcept { stop_.stop(); }

  private:
    /// A file as it was at the start.
    struct Begun {
        struct stat st = {};
        std::uint64_t offset = 0;
    };
    /// What was read is compared with what the file has now.
    struct SecondReading {
        Digest first;
        PieceHasher reader;
        Hasher hasher;
        std::uint64_t done = 0;
    };
    [[nodiscard]] DiskStep end_of_input();
    [[nodiscard]] DiskStep read_again();
    [[nodiscard]] DiskStep finish(const Digest& digest);
    [[nodiscard]] DiskStep fail(Error error);
    [[nodiscard]] DiskStep changed();

    int fd_;
    const std::string name_;
    const HashAlgorithm hash_;
    std::optional<Begun> begun_{};
    std::optional<SecondReading> again_{};
    OutgoingPacker packer_;
    LateWaker& waker_;
    Hasher hasher_;
    JobReport& report_;
    StopEvent stop_;
    std::uint64_t bytes_ = 0;
};

}  // namespace udtx::transfer

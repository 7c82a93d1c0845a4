// Reads what is to be sent, hashes it and packs it for the protocol thread, as a disk task.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/job_report.hpp"
#include "transfer/source/inquiries.hpp"
#include "transfer/source/outgoing.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/source_tree.hpp"

namespace udtx::transfer {

class Reader {
  public:
    Reader() = default;
    virtual ~Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// Continues until all is read, or the outgoing queue was closed. It rests while that queue is full.
    [[nodiscard]] virtual DiskStep step() = 0;
    /// Any thread: the receiver gave up on this entry, so its rest need not be sent.
    virtual void skip(std::uint64_t index) noexcept = 0;
    /// Any thread: ends a step that waits for data.
    virtual void stop() noexcept = 0;
};

/// Reads what the scanner found, until its queue is closed and empty, and leaves out what the receiver has already. It
/// rests while the scanner has nothing or the receiver has not answered. All arguments but `run` outlive it.
[[nodiscard]] std::unique_ptr<Reader> read_tree(const std::vector<SourceRoot>& roots, const SendOptions& options,
                                                ReadRun run, ScanQueue& scanned, OutgoingQueue& out, LateWaker& waker,
                                                JobReport& report, ResumeAnswers& answers);

/// Reads a descriptor to the end of its input, or until stop(). It blocks while a pipe has no data. It reads a file a
/// second time if that changed meanwhile. After a read error, or if the second reading differs, it queues no FINISH;
/// the report has the failure. `name`: for reports. The references outlive it.
[[nodiscard]] std::unique_ptr<Reader> read_pipe(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out,
                                                LateWaker& waker, JobReport& report);

}  // namespace udtx::transfer

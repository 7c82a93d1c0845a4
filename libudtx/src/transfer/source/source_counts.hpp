// The sender's counts of files: what remains to be sent, what exists at the receiver, and what failed.
#pragma once

#include <cstdint>
#include <string>

#include "transfer/job_report.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/sent_names.hpp"

namespace udtx::transfer {

class SourceCounts {
  public:
    /// Both outlive it. `sent`: what other connections of the transfer have sent; null: not tracked.
    SourceCounts(SentNames* sent, JobReport& report) : sent_(sent), report_(report) {}

    /// The file is the next one.
    void meet(const ScannedEntry& entry);
    /// The file is being sent.
    void begin(const ScannedEntry& entry);
    /// The file is done, with `sent` bytes of the stream.
    void end(const ScannedEntry& entry, std::uint64_t sent);
    /// The whole file was sent, in `sent` bytes.
    void sent_whole(const ScannedEntry& entry, std::uint64_t sent);
    /// A link was sent.
    void sent_link(const ScannedEntry& entry) { report_.sent(entry.path, 0, entry.root); }
    /// The file exists at the receiver, which does not count it as delivered by this connection.
    void stands(const ScannedEntry& entry);
    /// An earlier run delivered the file.
    void kept_file(const ScannedEntry& entry);
    /// `bytes` need not be sent; `compared` of them were already counted by compared().
    void kept(std::uint64_t bytes, std::uint64_t compared);
    /// compared(): so many bytes are the same at the receiver. sent_anyway(): bytes counted so are sent after all.
    void compared(std::uint64_t same);
    void sent_anyway(std::uint64_t same);
    void fail(const ScannedEntry& entry, FileStatus status, int error_number);
    void fail(const ScannedEntry& entry, Error error);
    /// The error of a file that changed while it was read.
    [[nodiscard]] static Error changed(const ScannedEntry& entry);

  private:
    SentNames* sent_;
    JobReport& report_;
};

}  // namespace udtx::transfer

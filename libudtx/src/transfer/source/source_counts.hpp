// What a sender counts of the files that it comes to: what is left to be sent, what stands at the receiver, what
// failed.
#pragma once

#include <cstdint>
#include <string>

#include "transfer/job_report.hpp"
#include "transfer/source/scanner.hpp"
#include "transfer/source/sent_names.hpp"

namespace udtx::transfer {

class SourceCounts {
  public:
    /// Both outlive it. `sent`: what other connections of the transfer have sent; null: nobody needs to know.
    SourceCounts(SentNames* sent, JobReport& report) : sent_(sent), report_(report) {}

    /// It is the next one.
    void meet(const ScannedEntry& entry);
    /// It is being sent.
    void begin(const ScannedEntry& entry);
    /// It has come to its end, and to so many bytes of the stream.
    void end(const ScannedEntry& entry, std::uint64_t sent);
    /// It was sent whole, in so many bytes.
    void sent_whole(const ScannedEntry& entry, std::uint64_t sent);
    /// It is at the receiver, which does not count it as delivered by this connection.
    void stands(const ScannedEntry& entry);
    /// An earlier run has delivered it.
    void kept_file(const ScannedEntry& entry);
    /// So many bytes need not be sent, of which so many were compared.
    void kept(std::uint64_t bytes, std::uint64_t compared);
    /// So many bytes are the same at the receiver, or were counted so and are sent yet.
    void compared(std::uint64_t same);
    void sent_anyway(std::uint64_t same);
    void fail(const ScannedEntry& entry, FileStatus status, int error_number);

  private:
    SentNames* sent_;
    JobReport& report_;
};

}  // namespace udtx::transfer

// Reads what the scanner found, hashes it on the way and packs it for the protocol thread. Runs on its own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file_digest.hpp"
#include "transfer/job_report.hpp"
#include "transfer/outgoing.hpp"
#include "transfer/scanner.hpp"
#include "transfer/source_tree.hpp"

namespace udtx::transfer {

class SourceReader {
  public:
    /// All references outlive the reader.
    SourceReader(const std::vector<SourceRoot>& roots, HashAlgorithm hash, ScanQueue& scanned, OutgoingQueue& out,
                 LateWaker& waker, JobReport& report);
    /// Until the scanner's queue is closed and empty, or the outgoing queue was closed.
    void run();
    /// Any thread: the receiver gave up on this entry; its rest need not be sent.
    void skip(std::uint64_t index) noexcept { skip_.store(index, std::memory_order_relaxed); }

  private:
    struct OpenFile;
    void send(const ScannedEntry& entry);
    void send_file(const ScannedEntry& entry);
    /// So that the receiver knows of the file, and what became of it.
    void announce_unreadable(const ScannedEntry& entry, int error_number);
    /// Reads all extents; the status for FILE_END.
    FileStatus send_extents(OpenFile& file);
    /// One extent, cut into pieces. After a failure the rest of it is sent as zeros: the stream's mapping is fixed.
    FileStatus send_extent(OpenFile& file, const Extent& extent);
    FileStatus send_piece(OpenFile& file, std::uint64_t offset, std::uint64_t length);
    void send_zeros(std::uint64_t length);
    void add_digest(OpenFile& file, const Digest& digest);
    void flush_digests(OpenFile& file);
    void finish();
    void fail(const std::string& path, FileStatus status, int error_number);

    const std::vector<SourceRoot>& roots_;
    HashAlgorithm hash_;
    ScanQueue& scanned_;
    JobReport& report_;
    OutgoingPacker packer_;
    Hasher piece_hasher_;
    RootDigest root_;
    std::uint64_t next_index_ = 0;
    std::uint64_t data_bytes_ = 0;
    std::atomic<std::uint64_t> skip_{UINT64_MAX};
};

}  // namespace udtx::transfer

// Walks the sources and queues what it finds; runs ahead of the reader so that totals are known early, but bounded,
// so that a tree of any size fits in memory.
#pragma once

#include <dirent.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transfer/bounded_queue.hpp"
#include "transfer/job_report.hpp"
#include "transfer/messages.hpp"
#include "transfer/source_tree.hpp"

struct stat;

namespace udtx::transfer {

struct ScannedEntry {
    std::size_t root = 0;
    std::string path;  ///< below the root's directory, and the name that goes to the receiver
    EntryType type = EntryType::file;
    std::uint32_t mode = 0;
    std::int64_t mtime_ns = 0;
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;  ///< counted into Progress::bytes_total
    std::string target;            ///< symlink
};

/// Bytes of memory that queued entries may take.
inline constexpr std::size_t kMaxScanQueueBytes = 16U << 20U;
using ScanQueue = BoundedQueue<ScannedEntry>;

[[nodiscard]] std::int64_t mtime_of(const struct stat& st) noexcept;
/// Bytes that a file is expected to put on the wire: not more than what it occupies.
[[nodiscard]] std::uint64_t expected_data_bytes(const struct stat& st) noexcept;
/// Occupies less than its size: has holes, or is compressed by the file system.
[[nodiscard]] bool may_have_holes(const struct stat& st) noexcept;

class Scanner {
  public:
    /// All outlive the scanner.
    Scanner(const std::vector<SourceRoot>& roots, ScanQueue& queue, JobReport& report);
    /// Walks to the end (or until the queue is closed), closes the queue, and makes the totals final.
    void run();

  private:
    struct CloseDir {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    struct Level {
        std::unique_ptr<DIR, CloseDir> directory;
        std::string path;
    };
    void walk(std::size_t root);
    /// Queues one entry; a directory's level goes on the stack.
    void visit(std::size_t root, int directory, const std::string& name, const std::string& path);
    void descend(int directory, const std::string& name, const std::string& path);
    void add(ScannedEntry entry);
    void fail(const std::string& path, int error_number);

    const std::vector<SourceRoot>& roots_;
    ScanQueue& queue_;
    JobReport& report_;
    std::vector<Level> levels_;
    bool stopped_ = false;
};

}  // namespace udtx::transfer

// Walks the sources and queues what it finds; runs ahead of the reader so that totals are known early, but bounded,
// so that a tree of any size fits in memory.
#pragma once

#include <dirent.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "transfer/bounded_queue.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/source/source_tree.hpp"
#include "transfer/source/taken_names.hpp"
#include "udtx/transfer/selection.hpp"

struct stat;

namespace udtx::transfer {

struct ScannedEntry {
    std::size_t root = 0;
    std::string path;  ///< below the root's directory, and the name that goes to the receiver
    EntryType type = EntryType::file;
    std::uint32_t mode = 0;
    FileTime mtime{};
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;  ///< counted into Progress::bytes_total
    std::string target;            ///< symlink; hard link: path of the entry that it is another name of
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    bool linked = false;              ///< other names of the file may follow as hard links
    std::optional<FileRange> part{};  ///< of a file: another shard has the rest
    bool unsent = false;              ///< only its name goes
    /// What goes of a file.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return part ? part->length : size; }
};

struct ScanOptions : Selection {
    bool only_finished = false;  ///< nothing is said of the journals and parts of transfers, which never go
};

/// Bytes of memory that queued entries may take.
inline constexpr std::size_t kMaxScanQueueBytes = 16U << 20U;
using ScanQueue = BoundedQueue<ScannedEntry>;

/// Bytes that a file is expected to put on the wire: not more than what it occupies.
[[nodiscard]] std::uint64_t expected_data_bytes(const struct stat& st) noexcept;
/// Occupies less than its size: has holes, or is compressed by the file system.
[[nodiscard]] bool may_have_holes(const struct stat& st) noexcept;

/// What of a file of that size goes. False: nothing, another shard has it.
[[nodiscard]] bool choose_bytes(const Selection& what, std::uint64_t size, ScannedEntry& entry);

class Scanner {
  public:
    /// All outlive the scanner.
    Scanner(const std::vector<SourceRoot>& roots, ScanQueue& queue, JobReport& report, ScanOptions options = {});
    /// Walks on until the queue is full. At the end (or when the queue is closed) closes the queue and makes the totals
    /// final.
    [[nodiscard]] DiskStep step();
    /// Any thread: directories and links that were queued.
    [[nodiscard]] std::uint64_t others() const noexcept { return others_; }

  private:
    struct CloseDir {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    /// What goes of a directory besides itself. way: nothing, and no rule counts for it.
    enum class Into { nothing, way, entries, all };
    struct Level {
        std::unique_ptr<DIR, CloseDir> directory;
        std::string path;
        Into below;
    };
    struct Asked {
        std::string path;
        Into into;
    };
    /// The list may be long, and whoever made the scanner must not wait.
    [[nodiscard]] std::vector<Asked> names_in_order();
    /// The next source, or the next name of the list; its levels are on the stack. False: there is none.
    [[nodiscard]] bool begin_next();
    void begin_root();
    void begin_name(const Asked& asked);
    /// The next entry of the level on top.
    void walk_on();
    /// The directories above a name, each once. False: one of them is excluded or cannot be sent.
    [[nodiscard]] bool visit_parents(std::size_t root, const std::vector<std::string>& components);
    /// What is no directory: it is in the part that goes. A directory goes with whatever is below it.
    [[nodiscard]] bool in_part(const std::string& path) const;
    /// Queues one entry; a directory's level goes on the stack.
    void visit(std::size_t root, int directory, const std::string& name, const std::string& path, Into into);
    /// An earlier source, or line of the list, had that name.
    [[nodiscard]] TakenNames::Holder holder_of(const std::string& path, bool directory);
    /// The same of what is no directory; counts those that had it.
    [[nodiscard]] bool came_before(const std::string& path);
    void visit_symlink(int directory, const std::string& name, ScannedEntry entry);
    void visit_file(const struct stat& st, ScannedEntry entry);
    void descend(int directory, const std::string& name, const std::string& path, Into into);
    void add(ScannedEntry entry);
    /// Found, and not to be sent; no failure.
    void leave_out(const std::string& path);
    void fail(const std::string& path, int error_number);
    /// Nothing of a directory goes where a file has its name.
    void fail_hidden(const std::string& path);

    const std::vector<SourceRoot>& roots_;
    ScanQueue& queue_;
    JobReport& report_;
    ScanOptions options_;
    std::vector<Level> levels_;
    const bool may_meet_;  // names can come twice
    TakenNames taken_;
    /// Device and inode say little where one file system shows several: times and size have to agree as well.
    using Linked = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, time_t, long, time_t, long>;
    std::map<Linked, std::string> linked_;              // first names
    std::map<std::string, bool, std::less<>> parents_;  // of names that were asked for: whether they were sent
    std::size_t next_root_ = 0;
    std::size_t root_ = 0;  // the present one
    std::vector<Asked> asked_;
    std::size_t next_asked_ = 0;
    bool everything_ = false;          // that is there was asked for
    std::uint64_t brought_again_ = 0;  // names of an earlier source
    std::string first_again_;
    std::uint64_t unfinished_ = 0;  // journals and parts of transfers
    std::atomic<std::uint64_t> others_{0};
    bool stopped_ = false;
};

/// Whether a symbolic link at `path` leads out of what is sent: absolute, or above the top on its way.
[[nodiscard]] bool leads_out(std::string_view path, std::string_view target);

}  // namespace udtx::transfer

// Walks the sources and queues what it finds.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "transfer/bounded_queue.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/job_report.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "transfer/source/source_tree.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

// The names that a walk has found, if another source or line of a list may repeat one. A name takes 11 to 22 bytes,
// since there may be millions. A hash collision leaves out a file; it happens once in ten million trees of a million
// names.

class TakenNames {
  public:
    enum class Holder { none, directory, other };
    /// Returns which type of entry has the name already; if none has, takes the name.
    Holder take(std::string_view path, bool directory) {
        if (4 * (count_ + 1) > 3 * slots_.size()) grow();
        const std::uint64_t key = (path_key(path) & ~(kTaken | kDirectory)) | kTaken | (directory ? kDirectory : 0);
        std::uint64_t& slot = slot_of(key);
        if (slot != 0) return (slot & kDirectory) != 0 ? Holder::directory : Holder::other;
        slot = key;
        ++count_;
        return Holder::none;
    }

  private:
    static constexpr std::uint64_t kTaken = 1;
    static constexpr std::uint64_t kDirectory = 2;

    /// The slot of the key, or the free slot for it.
    std::uint64_t& slot_of(std::uint64_t key) {
        std::size_t at = static_cast<std::size_t>(key >> 2U) & (slots_.size() - 1);
        while (slots_[at] != 0 && (slots_[at] | kDirectory) != (key | kDirectory)) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        const auto before =
            std::exchange(slots_, std::vector<std::uint64_t>(slots_.empty() ? 1024 : 2 * slots_.size()));
        for (const std::uint64_t key : before) {
            if (key != 0) slot_of(key) = key;
        }
    }

    std::vector<std::uint64_t> slots_;  // their number is a power of two; at least a quarter is free (0)
    std::size_t count_ = 0;
};

// Walks the sources and queues what it finds. It runs ahead of the reader, so that totals are known early. The queue is
// bounded, so that a tree of any size fits in memory.

/// Paths of which the first is named and all are counted.
struct CountedPaths {
    std::uint64_t count = 0;
    std::string first{};
    void add(const std::string& path) {
        if (count++ == 0) first = path;
    }
};

struct ScannedEntry {
    std::size_t root = 0;
    std::string path;  ///< below the root's directory; also the name that is sent
    EntryType type = EntryType::file;
    std::uint32_t mode = 0;
    int mode_error = 0;  ///< errno of reading the access control list that limits the mode; 0: none
    FileTime mtime{};
    std::uint64_t size = 0;
    std::uint64_t data_bytes = 0;  ///< counted in Progress::bytes_total
    std::string target;            ///< of a symlink; of a hard link: path of the entry for the same file
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    bool linked = false;              ///< other names of the file may follow as hard links
    std::optional<FileRange> part{};  ///< of a file: another shard has the rest
    bool unsent = false;              ///< only its name is sent
    /// Bytes of a file that are sent.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return part ? part->length : size; }
};

/// Bytes of memory that queued entries may take.
inline constexpr std::size_t kMaxScanQueueBytes = 16U << 20U;
using ScanQueue = BoundedQueue<ScannedEntry>;

/// Bytes that a file is expected to put on the wire: at most what it occupies on disk.
[[nodiscard]] std::uint64_t expected_data_bytes(const struct stat& st) noexcept;

/// Chooses the bytes of a file of that size that are sent. False: none, another shard has it.
[[nodiscard]] bool choose_bytes(const Selection& what, std::uint64_t size, ScannedEntry& entry);

/// Adds an entry to the content of a shard. `bytes`: those of it that are sent.
void count_in(ShardContent& content, const std::string& path, std::uint64_t bytes);
/// True if ShardContent counts the entry for the shard that has this part. Each directory counts once, although all
/// shards make those that lead to their files. Lists of names lead to directories of other shards, which do not count.
[[nodiscard]] bool counts(const Selection& what, const PathRange& part, EntryType type, const std::string& path);

class Scanner {
  public:
    /// Temporary files of transfers are never sent. Whether the user hears of them:
    enum class Unfinished : std::uint8_t { warn, silent };

    /// All arguments outlive the scanner.
    Scanner(const std::vector<SourceRoot>& roots, ScanQueue& queue, JobReport& report, const Selection& what,
            Unfinished unfinished = Unfinished::warn);
    /// Walks on until the queue is full. At the end, or when the queue was closed, it closes the queue and makes the
    /// totals final.
    [[nodiscard]] DiskStep step();
    /// Number of files that are remembered because some of their names were not met yet.
    [[nodiscard]] std::size_t linked() const noexcept { return linked_.size(); }
    /// Any thread: number of directories and links that were queued.
    [[nodiscard]] std::uint64_t others() const noexcept { return others_; }

  private:
    struct CloseDir {
        void operator()(DIR* directory) const noexcept { ::closedir(directory); }
    };
    /// Which contents of a directory are sent besides itself. way: none, and filter rules do not apply to the
    /// directory.
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
    /// Sorts the list of names. It may be long, so the constructor, whose caller must not wait, does not do it.
    [[nodiscard]] std::vector<Asked> names_in_order();
    /// Starts the next source, or the next name of the list, and pushes its levels on the stack. False: there is none
    /// left.
    [[nodiscard]] bool begin_next();
    void begin_name(const Asked& asked);
    /// Handles the next entry of the level on top.
    void walk_on();
    /// Visits the directories above a name, each once. False: one of them is excluded or cannot be sent.
    [[nodiscard]] bool visit_parents(std::size_t root, const std::vector<std::string>& components);
    /// True if an entry is in the part to send. A directory is sent with any entry below it, so this is for other
    /// types.
    [[nodiscard]] bool in_part(const std::string& path) const;
    /// Queues one entry; a directory's level is pushed on the stack.
    void visit(std::size_t root, int directory, const std::string& name, const std::string& path, Into into);
    /// Tells whether an earlier source, or line of the list, had that name.
    [[nodiscard]] TakenNames::Holder holder_of(const std::string& path, bool directory);
    /// The same for entries other than directories; it counts repeated names.
    [[nodiscard]] bool came_before(const std::string& path);
    void visit_symlink(int directory, const std::string& name, ScannedEntry entry);
    void visit_file(int directory, const std::string& name, const struct stat& st, ScannedEntry entry);
    /// Finds the first name of a file that has several, or makes this one the first.
    void find_first_name(int directory, const std::string& name, const struct stat& st, ScannedEntry& entry);
    void descend(int directory, const std::string& name, const std::string& path, Into into);
    void add(ScannedEntry entry);
    /// Fails if the plan of the shard counted other entries.
    void check_content();
    /// Records an entry that is found but not sent; it is not a failure.
    void leave_out(const std::string& path);
    void fail(const std::string& path, const Error& why) { report_.fail_unannounced(path, why); }
    void fail(const std::string& path, int error_number) { fail(path, io_error("cannot read", path, error_number)); }

    const std::vector<SourceRoot>& roots_;
    ScanQueue& queue_;
    JobReport& report_;
    const Selection& what_;
    const Unfinished of_unfinished_;
    std::vector<Level> levels_;
    const bool may_meet_;  // names can occur twice
    const bool overlap_;   // files can
    TakenNames taken_;
    /// Device and inode are not enough where one file system shows several: times and size must agree as well, and what
    /// the file system itself calls the file. If that has no name for it, the contents must be equal.
    using Linked = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, time_t, long, time_t, long, std::string>;
    struct FirstName {
        std::size_t root;
        std::string path;
        std::set<std::uint64_t> met{};  ///< its names so far: a second mount may show one twice
    };
    /// Makes the entry a link to the first name, if it is another name of that file.
    void choose_link(const FirstName& first, bool added, bool proven, ScannedEntry& entry);
    [[nodiscard]] bool has_content_of(const FirstName& first, const ScannedEntry& entry) const;
    std::map<Linked, FirstName> linked_;                // files of which some names were not met yet
    CountedPaths doubtful_;                             // names that may be links, and are sent as files of their own
    std::map<std::string, bool, std::less<>> parents_;  // of requested names: whether they were sent
    std::size_t next_root_ = 0;
    std::size_t root_ = 0;  // the present one
    std::vector<Asked> asked_;
    std::size_t next_asked_ = 0;
    bool everything_ = false;  // the list asks for the whole source
    ShardContent content_;
    CountedPaths again_;            // names of an earlier source
    std::uint64_t unfinished_ = 0;  // journals and partial files of transfers
    std::atomic<std::uint64_t> others_{0};
    bool stopped_ = false;
};

/// True if a symbolic link at `path` leads out of what is sent: it is absolute, or passes above the top.
[[nodiscard]] bool leads_out(std::string_view path, std::string_view target);

}  // namespace udtx::transfer

// Writes a received tree below one directory. For one task. It is independent of connections.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/file/quirks/disk_quota.hpp"
#include "transfer/landing/file_builder.hpp"
#include "transfer/landing/old_content.hpp"
#include "transfer/landing/target_tree.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/lifecycle.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// The directories of a tree that is being written. Their owner has all rights in them until everything below them is
// written. Then they get their final mode and time.

class MadeDirectories {
  public:
    /// `tree` must outlive this object.
    explicit MadeDirectories(TargetTree& tree) : tree_(tree), umask_bars_owner_(may_umask_bar_owner()) {}

    /// Stores mode and time for the destination itself. False: it keeps its own.
    bool take_top(const message::Entry& entry);
    enum class Stands { no, made, unchanged };
    /// Makes the directory, also in the place of another entry, and reports what became of it. `unchanged`: it existed
    /// with the mode and the time that it is to have.
    Stands make(const message::Entry& entry, const std::string& path);

    /// Call it at the end: finishes the directory that was made last. False: none is left.
    bool finish_next();
    /// Finishes all that are left, and those that were only opened up.
    void finish_all();
    /// Finishes the destination itself. Call it when nothing changes in it any more.
    void finish_top();

    [[nodiscard]] std::uint64_t held() const noexcept { return bytes_; }

  private:
    struct Made {
        std::string path;
        std::uint32_t mode = 0;
        FileTime mtime{};
    };
    [[nodiscard]] std::uint32_t mode_of(const message::Entry& entry) const noexcept;
    /// A directory as it is found.
    struct Found {
        std::uint32_t mode = 0;
        bool existed = false;
        bool has_time = false;  ///< it existed with the time of its entry
    };
    /// Returns 0 or an errno.
    int make_or_open(int parent, const SplitName& split, const message::Entry& entry, Found& found);
    /// Stores mode and time, which are set at the end.
    void remember(Made directory);
    void finish(const Made& directory);

    TargetTree& tree_;
    const bool umask_bars_owner_;
    std::vector<Made> made_;
    std::uint64_t bytes_ = 0;
    std::optional<Made> top_;
};

// Hard links that wait until all files have their names. A part of them waits in memory, and the rest in a file of the
// destination that has no name.

struct WaitingLink {
    std::uint64_t index = 0;
    std::string path;
    std::string target;  ///< another name of the file
};

class WaitingLinks {
  public:
    /// `root` and `limits` must outlive this object. `most`: the bytes of links in memory. `limits`: those of the file.
    WaitingLinks(const ConfinedDir& root, std::size_t most, const LandingOptions& limits)
        : root_(root), most_(most), limits_(limits) {}

    /// file_io: there is too much for the memory, and the disk does not take it.
    Result<void> push(WaitingLink link);
    [[nodiscard]] bool empty() const noexcept { return in_memory_.empty() && read_ == written_ && tail_.empty(); }
    /// The one that waits longest; call it only if one waits. file_io: the rest cannot be read, and is dropped.
    Result<WaitingLink> pop();
    /// Bytes of memory held.
    [[nodiscard]] std::uint64_t held() const noexcept { return bytes_ + tail_.capacity(); }

  private:
    [[nodiscard]] static std::size_t bytes_of(const WaitingLink& link) noexcept;
    void keep(WaitingLink link);
    /// Writes what `tail_` has. Returns 0 or an errno.
    int write_tail();
    /// Reads links back until there are as many in memory as may be. Returns 0 or an errno.
    int read_some();
    /// Opens the file. Returns 0 or an errno.
    int open();
    /// Whether the limits allow the file to have so many bytes: 0 or an errno.
    int find_room(std::uint64_t bytes);
    void close();

    const ConfinedDir& root_;
    const std::size_t most_;
    const LandingOptions& limits_;
    std::deque<WaitingLink> in_memory_;
    std::size_t bytes_ = 0;  // of in_memory_
    UniqueFd file_;
    std::unique_ptr<DiskQuota::Charge> charge_;  // of the file
    std::string tail_;                           // the latest records, which are not in the file yet
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
};

// Other names of files. They are made at the end, when the files have their final names. If the disk cannot give a file
// two names, the other name gets a copy.

class HardLinks {
  public:
    /// `tree` must outlive this object.
    explicit HardLinks(TargetTree& tree) : tree_(tree), waiting_(tree.root, tree.run.hard_link_bytes, tree.options) {}

    void add(const message::Entry& entry, const std::string& path);
    /// Call it when all files have their names: makes the next link or a part of a copy. False: none is left.
    bool go_on();
    /// Makes no more links. Counts those of the remaining names that exist already.
    void give_up();
    /// Removes a copy that was begun.
    void drop_copy();

    [[nodiscard]] std::uint64_t held() const noexcept { return waiting_.held(); }

  private:
    struct Copy {
        std::uint64_t index = 0;
        std::string path;
        FileAttributes attributes;
        std::uint64_t size = 0;
        int error_number = 0;  // why it is not a link
        UniqueFd from;
        TempFile file;
        std::uint64_t copied = 0;
    };
    void make(const WaitingLink& link);
    void begin_copy(const WaitingLink& link, const struct stat& of, int error_number);
    void copy_more();

    TargetTree& tree_;
    WaitingLinks waiting_;
    std::optional<Copy> copying_;
};

/// Order of calls: begin_entry() for each entry, in order. Pieces, digests and end_file() of a file follow its entry,
/// in any order. At the end finish() until it is done, or abandon().
class TreeWriter {
  public:
    /// As TargetTree().
    TreeWriter(ConfinedDir root, const message::Offer& agreed, const LandingOptions& options, TreeRun run,
               Report& report);
    ~TreeWriter();

    void begin_entry(const message::Entry& entry);
    /// The files after their entries, except for set_meta() and end_file().
    [[nodiscard]] IncomingFiles& files() noexcept { return files_; }
    /// What exists of a file. Ask before the file's entry.
    [[nodiscard]] Holdings& holdings() noexcept { return holdings_; }
    /// Stores names that the sender has but does not send, for the end.
    void note_unsent(const message::Unsent& unsent);
    /// Sets owner and attributes of the latest entry.
    void set_meta(const message::Meta& meta);
    /// Stores for the end what must not be deleted.
    void add_rules(const message::Rules& rules);
    /// `pieces`: the number of pieces that the file was announced with.
    void end_file(const message::FileEnd& end, std::uint64_t pieces);
    /// Each call does a part of the end: incomplete files fail, and everything complete becomes durable. Hard links are
    /// made. What the sender does not have is deleted, if that is wanted and `all_well` allows it. Directories get
    /// their mode and time. The last call returns the root digest of what the sender declared complete. `settled` gets
    /// that digest as soon as only the root's own mode and time are left.
    [[nodiscard]] std::optional<Digest> finish(
        const std::function<bool()>& all_well,
        const std::function<void(const Digest&)>& settled = [](const Digest&) {});
    /// Commits what is complete. Removes the other temporary files, except those that another run can continue.
    void abandon() noexcept;

    /// Bytes of memory that the sender makes us hold.
    [[nodiscard]] std::uint64_t held() const {
        return tree_.held() + files_.held() + directories_.held() + links_.held();
    }

  private:
    /// The step of the end that finish() is in.
    enum class Ending : std::uint8_t { files, shared, links, durable, erasing, rest };
    static constexpr Step<Ending> kEndingSteps[] = {
        {Ending::files, Ending::shared}, {Ending::shared, Ending::links},    {Ending::links, Ending::durable},
        {Ending::durable, Ending::rest}, {Ending::durable, Ending::erasing}, {Ending::erasing, Ending::rest}};
    /// The latest entry, if it has its final name already.
    struct Standing {
        EntryType type = EntryType::file;
        std::string path;
        bool unchanged = false;  ///< a directory that was reported as unchanged
    };
    void make_symlink(const message::Entry& entry, const std::string& path);
    /// Sets owner and attributes of an entry that has its final name.
    void update_meta(const message::Meta& meta, Standing& entry);

    TargetTree tree_;
    Holdings holdings_;
    IncomingFiles files_;
    MadeDirectories directories_;
    HardLinks links_;
    RootDigest root_digest_;
    std::optional<Standing> standing_;
    std::uint64_t latest_index_ = 0;
    Lifecycle<kEndingSteps> ending_{Ending::files};
};

}  // namespace udtx::transfer

// Which entries of which sources are sent, how they are compared with the receiver's files, and where a fetch stores
// them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

// Filters of a tree: the --exclude and --include of rsync. docs/using/trees.md explains the patterns.

/// One --include or --exclude.
struct FilterRule {
    bool include = false;  ///< true: include; false: exclude
    std::string pattern;   ///< pattern in the syntax of rsync
};

inline constexpr std::size_t kMaxFilterRules = 1024;        ///< limit of the rules of one transfer
inline constexpr std::size_t kMaxFilterBytes = 64U << 10U;  ///< limit of the bytes of all its patterns

struct FilterPattern;

/// An ordered list of rules. Several threads may query it at the same time while none changes it.
class UDTX_EXPORT FilterRules {
  public:
    FilterRules();                                         ///< No rules: nothing is excluded.
    FilterRules(const FilterRules& other);                 ///< A copy.
    FilterRules(FilterRules&& other) noexcept;             ///< Takes the rules of `other`.
    FilterRules& operator=(const FilterRules& other);      ///< A copy.
    FilterRules& operator=(FilterRules&& other) noexcept;  ///< Takes the rules of `other`.
    ~FilterRules();

    /// Appends a rule. invalid_argument: the pattern is empty or too long, or the list is full.
    [[nodiscard]] Result<void> add(FilterRule rule);
    /// True if the first rule that matches `path` excludes it. `path` is relative to the destination. Ask for a
    /// directory before its content, and skip the content of an excluded directory.
    [[nodiscard]] bool excludes(std::string_view path, bool directory) const;
    /// The rules in order.
    [[nodiscard]] const std::vector<FilterRule>& list() const noexcept { return rules_; }
    /// True if there are no rules.
    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

  private:
    std::vector<FilterRule> rules_;
    std::vector<FilterPattern> patterns_;
    std::size_t bytes_ = 0;
};

// An interval of paths in a tree.

/// Compares paths by bytes, component by component. A directory and its whole content come before anything that follows
/// the directory ("a", "a/b", "a.txt").
[[nodiscard]] UDTX_EXPORT std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept;

/// A file is cut only at multiples of this number of bytes.
inline constexpr std::uint64_t kCutBytes = 8U << 20U;

/// A byte range of a file.
struct FileRange {
    std::uint64_t offset = 0;  ///< offset of the first byte
    std::uint64_t length = 0;  ///< length in bytes
    /// Compares all members.
    friend bool operator==(const FileRange&, const FileRange&) noexcept = default;
};

/// The interval from `from` up to, but not including, `to`. compare_paths() gives the order of paths, and the offset
/// the order within a file. Paths are relative to the destination.
struct PathRange {
    std::string from{};  ///< first path; empty: from the start of the tree
    std::string to{};    ///< end of the interval, see `to_offset`; empty: to the end of the tree
    /// The interval contains the file `from` only from this byte on; a multiple of kCutBytes.
    std::uint64_t from_offset = 0;
    std::uint64_t to_offset = 0;  ///< the interval contains the file `to` up to this byte; a multiple of kCutBytes

    /// True if the interval contains the path itself. For a file this means its first byte.
    [[nodiscard]] UDTX_EXPORT bool contains(std::string_view path) const noexcept;
    /// True if the interval contains the path, a possible path below it, or any byte of a file with this name.
    [[nodiscard]] UDTX_EXPORT bool meets(std::string_view path) const noexcept;
    /// Returns the part of a file of `size` bytes that is in the interval; nullopt: none. For an empty file inside the
    /// interval the result has length 0.
    [[nodiscard]] UDTX_EXPORT std::optional<FileRange> bytes_of(std::string_view path,
                                                                std::uint64_t size) const noexcept;
    /// Compares all members.
    friend bool operator==(const PathRange&, const PathRange&) noexcept = default;
};

// One of several transfers that move one tree together: a shard of a job.

inline constexpr std::size_t kMaxShards = 4096;  ///< limit of the shards of one job

/// What a part of a tree contains, as counted when the plan was made. A host that finds something else in its part sees
/// another tree, for example because a mount is missing.
struct ShardContent {
    std::uint64_t entries = 0;  ///< number of files, links and directories in the part
    std::uint64_t bytes = 0;    ///< sizes of the files and parts of files, including holes
    std::uint64_t names = 0;    ///< a hash of all paths, whatever their order
    /// Compares all members.
    friend bool operator==(const ShardContent&, const ShardContent&) noexcept = default;
};

/// The data that each shard sends to the receiver. The receiver uses it to rename a file that several shards fill once,
/// after the last of them, and to check that all shards cut the tree in the same way.
struct JobShard {
    std::uint64_t job = 0;              ///< job_number(), the same for all shards of the job
    std::size_t index = 0;              ///< index of this shard, from 0
    std::size_t count = 1;              ///< number of shards, at most kMaxShards
    std::uint64_t split = 0;            ///< Split::digest() of the cuts of the tree
    std::uint64_t bits_per_second = 0;  ///< rate limit of all shards together; 0: no limit
    std::uint64_t selection = 0;        ///< selection_number(): shards that select other entries are refused
    /// The run of the job that an earlier connection of this transfer met, see JobState::run; 0: none. The receiver
    /// refuses a shard that meets another one, because data of the earlier one may be gone.
    std::uint64_t run = 0;
    /// The run in which an earlier transfer of this shard has delivered everything, see JobState::run; 0: none. If the
    /// receiver no longer has the job and finds every entry unchanged, that run stays valid and no other one begins.
    std::uint64_t delivered_run = 0;
    std::optional<ShardContent> content{};  ///< of the plan; the transfer fails if the sources have something else
    /// Compares all members.
    friend bool operator==(const JobShard&, const JobShard&) noexcept = default;
};

// Which part of the sources is sent, and how it is compared with the receiver's files. A sender chooses this itself. A
// receiver that fetches sends its choice to the sender.

/// Version of the transfer messages and of pack(). Both ends need the same version.
inline constexpr std::uint64_t kTransferVersion = 13;
inline constexpr std::uint64_t kOldestTransferVersion = 13;  ///< oldest version that this release speaks

/// Hash of pieces and files. xxh3_128 is fast, and detects faults of memory and disk. sha256 also resists forgery,
/// which matters for receipts. In transit the AEAD of the packets protects the data. The values are those on the wire.
enum class HashAlgorithm : std::uint8_t { xxh3_128 = 1, sha256 = 2 };
/// Name of the hash: "xxh3-128" or "sha256".
[[nodiscard]] UDTX_EXPORT std::string_view to_string(HashAlgorithm algorithm) noexcept;

/// What happens to a file that the receiver already has. A smaller value is stricter.
enum class Overwrite : std::uint8_t {
    never = 0,   ///< keep it
    diff = 1,    ///< if size or time differ, send the blocks that differ
    always = 2,  ///< send the whole file
};

/// What happens to symbolic links. They are never followed.
enum class LinkChoice : std::uint8_t {
    keep = 0,  ///< send links, whatever their target
    safe = 1,  ///< send links, but omit those that lead out of the tree
    skip = 2,  ///< omit links
};

/// Shape of all sources together. The receiver chooses names by it.
enum class SourceShape : std::uint8_t {
    file = 0,       ///< one file or symbolic link
    directory = 1,  ///< one directory, under its name
    contents = 2,   ///< "dir/": the content of a directory
    several = 3,    ///< more than one source
    stream = 4,     ///< the source "-", or one file that the receiver writes to a descriptor
};

/// The sources, and how to send them.
struct Selection {
    /// Files and directories. Each arrives under the last component of its path. For "dir/", ".", ".." and "/"
    /// the content arrives. A single "-" is the stream that SendOptions::stream_fd reads.
    std::vector<std::string> sources{};
    FilterRules rules{};                  ///< which entries to exclude
    LinkChoice links = LinkChoice::keep;  ///< what happens to symbolic links
    bool hard_links = false;              ///< true: send further names of a file as hard links, not as copies
    /// Send only these paths below the only source, and the directories above them. A path that ends in a slash or a
    /// dot also sends the entries directly in that directory.
    std::optional<std::vector<std::string>> names{};
    bool into_named = false;  ///< true: send the whole content of the directories in `names`
    /// Send only this part of the tree, and the directories above it. Cannot be combined with `erase`. Hard links
    /// between two parts are not detected: such a link arrives as a copy.
    std::optional<PathRange> part{};
    /// The shards that divide the tree with `part`. Without it, `part` must not cut files.
    std::optional<JobShard> shard{};
    bool preserve = false;  ///< keep all mode bits, and times of directories and links; times of files are always kept
    bool set_id = false;    ///< with `preserve`: keep set-user-ID and set-group-ID bits, if the receiver allows it
    bool owner = false;     ///< keep the user and group numbers, if the receiver may set them
    bool attributes = false;  ///< keep extended attributes of the namespace `user`
    bool sparse = false;      ///< the receiver may write zeros as holes
    bool by_digest = false;   ///< compare contents, not size and time
    bool dry_run = false;     ///< change nothing, and report what would be done
    bool erase = false;       ///< delete entries in the receiver's directories that the sender does not have
    Overwrite overwrite = Overwrite::diff;         ///< what happens to files that the receiver already has
    HashAlgorithm hash = HashAlgorithm::xxh3_128;  ///< hash of pieces and files
};

/// Packs a selection into blocks of at most 64 KiB. Use it for a sender that is started by other means, such as ssh,
/// and gets its selection there. invalid_argument: there are more names than one request may contain.
[[nodiscard]] UDTX_EXPORT Result<std::vector<std::string>> pack(const Selection& selection);
/// Reads the blocks of pack(). protocol: the blocks are not a selection.
[[nodiscard]] UDTX_EXPORT Result<Selection> unpack_selection(const std::vector<std::string>& blocks);

// Finds where a fetch stores files, by the rules of scp and cp.

/// Shape of sources that exist on this host.
[[nodiscard]] UDTX_EXPORT SourceShape shape_of(const std::vector<std::string>& sources);
/// Names that the sources get at the destination. Empty if a name cannot be known, or if there are more than 256.
[[nodiscard]] UDTX_EXPORT std::vector<std::string> names_of(const std::vector<std::string>& sources);

/// Where a fetch stores files.
struct LandingPlace {
    std::string directory;  ///< existing, writable directory; empty: a dry run, and the directory does not exist
    std::string rename;     ///< new name of the only source; empty: its own name
};

/// Finds the place, and creates directories where needed. The sources go into `destination` if it is a directory. If it
/// does not exist and ends in '/', it is created with all its parents. Any other missing destination is the new name of
/// the only source. A run that continues `transfer` uses the place of the earlier run. file_io: the place cannot be
/// used.
[[nodiscard]] UDTX_EXPORT Result<LandingPlace> find_landing(const std::string& destination, SourceShape shape,
                                                            std::uint64_t transfer, bool dry_run = false);

/// True if the destination contains nothing under `names`, and nothing that a run of `transfer` has left. Call it
/// before find_landing(). Empty `names` mean that the names to come are unknown.
[[nodiscard]] UDTX_EXPORT bool is_fresh(const std::string& destination, const std::vector<std::string>& names,
                                        std::uint64_t transfer);

}  // namespace udtx::transfer

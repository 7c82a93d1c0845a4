// Which part of the sources is sent, and how it is compared with the receiver's files. A sender chooses this itself. A
// receiver that fetches sends its choice to the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/filter.hpp"
#include "udtx/transfer/job_shard.hpp"
#include "udtx/transfer/path_range.hpp"

namespace udtx::transfer {

/// Version of the transfer messages and of pack(). Both ends need the same version.
inline constexpr std::uint64_t kTransferVersion = 12;

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

}  // namespace udtx::transfer

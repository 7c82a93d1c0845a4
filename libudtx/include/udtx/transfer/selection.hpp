// What of the sources is sent, and how it is compared with what the receiver has. A sender says it for itself; a
// receiver that fetches tells it to the sender.
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

/// Version of the messages of transfers and of pack(). Both ends need the same.
inline constexpr std::uint64_t kTransferVersion = 10;

/// Hash of pieces and files. xxh3_128 is fast and finds faults of memory and disk; sha256 also withstands forgers,
/// which matters for receipts. On the way the AEAD of the packets protects the data. The values are those on the wire.
enum class HashAlgorithm : std::uint8_t { xxh3_128 = 1, sha256 = 2 };
/// "xxh3-128" or "sha256".
[[nodiscard]] UDTX_EXPORT std::string_view to_string(HashAlgorithm algorithm) noexcept;

/// What becomes of a file that the receiver has already. A smaller value is stricter.
enum class Overwrite : std::uint8_t {
    never = 0,   ///< it stays as it is
    diff = 1,    ///< if size or time differ, the blocks that differ are sent
    always = 2,  ///< all of it is sent
};

/// What becomes of symbolic links. None is ever followed.
enum class LinkChoice : std::uint8_t {
    keep = 0,  ///< sent as links, wherever they lead
    safe = 1,  ///< sent as links, but left out if they lead out of the tree
    skip = 2,  ///< left out
};

/// Shape of all sources together. By it the receiver chooses names.
enum class SourceShape : std::uint8_t {
    file = 0,       ///< one file or symbolic link
    directory = 1,  ///< one directory, under its name
    contents = 2,   ///< "dir/": what is in it
    several = 3,    ///< more than one
    stream = 4,     ///< the source "-", or one file that the receiver writes to a descriptor
};

/// The sources, and how they are sent.
struct Selection {
    /// Files and directories. Each arrives under its last component; of "dir/", ".", ".." and "/" the contents arrive.
    /// A single "-" is the stream that SendOptions::stream_fd reads.
    std::vector<std::string> sources{};
    FilterRules rules{};                  ///< what is left out
    LinkChoice links = LinkChoice::keep;  ///< what becomes of symbolic links
    bool hard_links = false;              ///< send further names of a file as hard links, not as copies
    /// Send only these paths below the only source, and the directories on the way. A path that ends in a slash or a
    /// dot also sends what is directly in the directory.
    std::optional<std::vector<std::string>> names{};
    bool into_named = false;  ///< send all that is in the directories in `names`
    /// Send only what is in this part of the tree, and the directories on the way to it. Not with `erase`. Two parts
    /// know nothing of each other's hard links: what links from one into the other comes as a copy.
    std::optional<PathRange> part{};
    /// The transfers that share the tree by `part`. Without it files are not to be cut.
    std::optional<JobShard> shard{};
    bool preserve = false;  ///< keep all mode bits, and times of directories and links; times of files are always kept
    bool set_id = false;    ///< with `preserve`: keep set-user-ID and set-group-ID bits, if the receiver allows it
    bool owner = false;     ///< keep the numbers of user and group, if the receiver may set them
    bool attributes = false;                ///< keep extended attributes of the namespace `user`
    bool sparse = false;                    ///< let the receiver write zeros as holes
    bool by_digest = false;                 ///< compare contents, not size and time
    bool dry_run = false;                   ///< do nothing, and tell what would be done
    bool erase = false;                     ///< delete what the directories have at the receiver and not at the sender
    Overwrite overwrite = Overwrite::diff;  ///< what becomes of files that the receiver has
    HashAlgorithm hash = HashAlgorithm::xxh3_128;  ///< of pieces and files
};

/// Packs a selection into blocks of at most 64 KiB, for a sender that is started by other means, such as ssh, and gets
/// its selection by them. invalid_argument: there are more names than one request may have.
[[nodiscard]] UDTX_EXPORT Result<std::vector<std::string>> pack(const Selection& selection);
/// The other direction. protocol: the blocks are no selection.
[[nodiscard]] UDTX_EXPORT Result<Selection> unpack_selection(const std::vector<std::string>& blocks);

}  // namespace udtx::transfer

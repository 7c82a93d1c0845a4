// What of the sources goes, and how it is compared with what stands at the receiver. A sender says it for itself; a
// receiver that fetches something says it to the sender.
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

namespace udtx::transfer {

/// Two ends understand each other's messages, and what pack() gives, where this is the same.
inline constexpr std::uint64_t kTransferVersion = 8;

/// Of pieces and files. xxh3_128 finds faults of memory and disk, and is fast; against an attacker the packets' AEAD
/// stands. On the wire.
enum class HashAlgorithm : std::uint8_t { xxh3_128 = 1, sha256 = 2 };
[[nodiscard]] UDTX_EXPORT std::string_view to_string(HashAlgorithm algorithm) noexcept;

/// What becomes of a file that stands at the receiver already; the smaller is the stricter.
enum class Overwrite : std::uint8_t { never = 0, diff = 1, always = 2 };

/// What becomes of symbolic links; none is ever followed.
enum class LinkChoice : std::uint8_t {
    keep = 0,  ///< sent as links, wherever they lead
    safe = 1,  ///< the same, but for those that lead out of the tree
    skip = 2,
};

/// Of all that is sent: by it the side that takes it chooses names.
enum class SourceShape : std::uint8_t {
    file = 0,       ///< one file or symbolic link
    directory = 1,  ///< one directory, under its name
    contents = 2,   ///< "dir/": what is in it
    several = 3,
    stream = 4,  ///< standard input, or one file for standard output
};

struct Selection {
    /// Files and directories; each arrives under its last component (the contents of "dir/", ".", ".." and "/" arrive
    /// without one). A single "-" is a stream: SendOptions::stream_fd.
    std::vector<std::string> sources{};
    FilterRules rules{};  ///< what is left out
    LinkChoice links = LinkChoice::keep;
    bool hard_links = false;  ///< other names of a file are sent as such
    /// Only these, below the only source, and the directories on the way. With a slash or dot at the end what is
    /// directly in the directory, too.
    std::optional<std::vector<std::string>> names{};
    bool into_named = false;  ///< all that is in directories that are named
    bool preserve = false;    ///< full modes, and the times of directories and links; those of files are always kept
    bool set_id = false;  ///< with preserve: set-user-ID and set-group-ID bits of files, where the receiver allows it
    bool owner = false;   ///< numbers of user and group, where the receiver is allowed to set them
    bool attributes = false;  ///< the user's extended attributes
    bool sparse = false;      ///< the receiver makes holes of zeros
    bool by_digest = false;   ///< compare contents, not size and time
    bool dry_run = false;     ///< only look what would be done
    bool erase = false;       ///< what is in the directories sent and not among the sources goes at the receiver
    Overwrite overwrite = Overwrite::diff;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
};

/// A selection for a sender that is started by other means (over ssh) and told by them what it is to send: blocks of
/// bytes, each at most 64 KiB. invalid_argument: more names than one request takes.
[[nodiscard]] UDTX_EXPORT Result<std::vector<std::string>> pack(const Selection& selection);
/// protocol: that is none.
[[nodiscard]] UDTX_EXPORT Result<Selection> unpack_selection(const std::vector<std::string>& blocks);

}  // namespace udtx::transfer

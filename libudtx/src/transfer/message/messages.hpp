// Messages of the control stream. Layouts: docs/inside/transfer-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/file_time.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/filter.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/plan.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxNotes = 64;                 // of a sender
inline constexpr std::size_t kMaxMessageBytes = 64U << 10U;  // type and body
/// Questions before the receiver has said whether it has anything: about as many as the first round trip takes, so that
/// asking opens the window as data would. What they are about may come with them.
inline constexpr std::size_t kAskedEarly = 256;
inline constexpr std::size_t kMaxListItems = 1024;  // extents or digests in one message
inline constexpr std::size_t kMaxTextBytes = 1024;
inline constexpr std::uint64_t kMaxExtentBytes = 64U << 20U;    // that a receiver takes
inline constexpr std::uint64_t kNoEntry = (1ULL << 62U) - 1;    // index of what failed and was not announced
inline constexpr std::size_t kMaxAttributes = 64;               // extended attributes of one entry
inline constexpr std::size_t kMaxAttributeBytes = 48U << 10U;   // of all of them, names and values
inline constexpr std::size_t kMaxRuleBytes = kMaxTextBytes;     // of one pattern
inline constexpr std::size_t kMaxListedPathBytes = 60U << 10U;  // of all paths or names in one message

/// What ends a transfer whose peer does not keep to the protocol.
[[nodiscard]] inline Error broken(const char* what) { return {ErrorCode::protocol, what}; }

enum class TransferMode : std::uint8_t {
    tree = 0,
    stream = 1,
    probe = 2,  ///< an ordered stream that the receiver drops: only the line is of interest
};
enum class FileStatus : std::uint8_t {
    ok = 0,
    changed = 1,     ///< the source changed while it was read
    unreadable = 2,  ///< a read failed
    skipped = 3,     ///< not sent to the end because the receiver had reported FILE_FAILED
    kept = 4,        ///< not sent: its content stands at the receiver
};
/// What the receiver has of a file, from an earlier run or in an older version.
enum class Holding : std::uint8_t {
    nothing = 0,
    file = 1,         ///< all of it, under its final name
    pieces = 2,       ///< these pieces, and more in further answers
    last_pieces = 3,  ///< these pieces
    same = 4,         ///< a file of that size and time: it is not to be announced
    exists = 5,       ///< something that is not to be overwritten: it is not to be announced
    all_pieces = 6,   ///< the last pieces of a file of that size, which is as it should be if all of them are
    blocked = 7,      ///< something that cannot make way, as FILE_FAILED says: it is not to be announced
};

/// Part of a file that holds data.
using Extent = FileRange;

/// A piece that lies on the receiver's disk and has this digest there.
struct ProvenPiece {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    Digest digest;
    friend bool operator==(const ProvenPiece&, const ProvenPiece&) noexcept = default;
};

namespace message {

// --- sender to receiver
struct Offer {
    std::uint64_t version = kTransferVersion;
    TransferMode mode = TransferMode::tree;
    bool preserve = false;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::vector<std::string> destination;
    std::uint64_t transfer = 0;  ///< the same number in each run of the same command; 0: nothing is kept for another
    Overwrite overwrite = Overwrite::diff;
    bool owner = false;      ///< the numbers of user and group, where the receiver may set them
    bool sparse = false;     ///< blocks of zeros become holes
    bool dry_run = false;    ///< only queries; nothing is written
    bool erase = false;      ///< what is not sent goes: --delete
    bool by_digest = false;  ///< size and time do not make a file the same
    bool set_id = false;  ///< with preserve, set-user-ID and set-group-ID bits of files, where the receiver allows it
    std::optional<JobShard> shard{};  ///< it is one of several transfers that share a tree
};
struct Entry {
    std::uint64_t index = 0;  ///< counts entries of all types from 0
    EntryType type = EntryType::file;
    std::vector<std::string> path;
    std::uint32_t mode = 0;  ///< permission bits, 07777
    FileTime mtime{};
    std::uint64_t size = 0;
    bool sparse = false;              ///< has holes: do not reserve disk space for all of it
    bool whole = false;               ///< one extent from 0 to size; otherwise EXTENTS messages follow
    std::string target;               ///< symlink; hard link: path of the other name, below the destination
    std::optional<FileRange> part{};  ///< of a shard: only this of the file comes; another one has the rest
};
struct Attribute {
    std::string name;
    std::string value;
    friend bool operator==(const Attribute&, const Attribute&) noexcept = default;
};
/// More about the latest entry, a file or a directory; directly after it, and of a kept file after its FILE_END.
struct Meta {
    std::uint64_t index = 0;
    bool has_owner = false;
    bool has_attributes = false;  ///< those that follow are all there are: others go
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::vector<Attribute> attributes;
};
/// What --delete must leave alone. Before the first entry. May come several times: the rules add up.
struct Rules {
    bool contents = false;  ///< the destination itself takes the contents of a directory
    std::vector<FilterRule> rules;
};
/// Further data of the latest file, ascending. Its pieces follow in the data stream in the same order.
struct Extents {
    std::uint64_t index = 0;
    std::vector<Extent> extents;
};
struct Digests {
    std::uint64_t index = 0;
    std::uint64_t first = 0;  ///< ordinal, within the file, of the first piece
    std::vector<Digest> digests;
};
struct FileEnd {
    std::uint64_t index = 0;
    FileStatus status = FileStatus::ok;
    Digest digest;  ///< see file_digest in docs; empty unless ok
};
struct Finish {
    std::uint64_t entries = 0;
    std::uint64_t data_bytes = 0;  ///< of the data stream
    std::uint64_t unsent = 0;      ///< entries that the sender could not read or name, and did not announce
    Digest root;
};
/// As Extents, but not sent: the receiver has these pieces, from its answers.
struct Kept {
    std::uint64_t index = 0;
    std::vector<Extent> extents;
};
/// What do you have of this file? Not answered after a Resume that is not active.
struct Query {
    std::uint64_t number = 0;  ///< counts queries from 0
    std::vector<std::string> path;
    std::uint64_t size = 0;
    FileTime mtime{};
    std::uint32_t mode = 0;  ///< as in Entry
    // Of a dry run: what else would be set.
    bool has_owner = false;
    bool has_attributes = false;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t attributes = 0;     ///< attributes_key() of them
    std::optional<FileRange> part{};  ///< as in Entry
};

/// Names that the sender has and does not send: excluded, links or kinds that do not go. --delete leaves them alone.
struct Unsent {
    std::vector<std::string> paths;
};
/// Of a dry run that was asked for: what would become of one entry.
struct Plan {
    PlannedEntry entry;
};
/// The first answer to PULL: what there is of what was asked for.
struct Sources {
    struct Missing {
        std::string path;
        std::string reason;
    };
    SourceShape shape = SourceShape::several;
    std::vector<Missing> missing;
};

/// How much there is to do, for what the receiver tells its user. Only grows until it is final; then it falls by what
/// turns out to be there.
struct Found {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;  ///< of the data stream, as far as the sender can foresee it
    bool final = false;       ///< the sources were looked through
    friend bool operator==(const Found&, const Found&) noexcept = default;
};

// --- receiver to sender
/// A receiver that dialled says what it wants. RULES and NAMES may follow; ACCEPT ends the request.
struct Pull {
    std::uint64_t version = kTransferVersion;
    TransferMode mode = TransferMode::tree;  ///< stream: one file, as a stream
    bool preserve = false;
    bool owner = false;
    bool sparse = false;
    bool dry_run = false;
    bool erase = false;
    bool by_digest = false;
    bool set_id = false;
    bool attributes = false;
    bool hard_links = false;
    bool named = false;       ///< only what NAMES list, below the only source
    bool into_named = false;  ///< and what is in directories among them
    LinkChoice links = LinkChoice::keep;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    Overwrite overwrite = Overwrite::diff;
    std::uint64_t transfer = 0;  ///< as in Offer
    std::vector<std::string> sources;
    std::optional<PathRange> part{};
    std::optional<JobShard> shard{};  ///< as in Offer
};
/// Names that were asked for.
struct Names {
    std::vector<std::string> names;
};
struct Accept {
    std::uint64_t version = kTransferVersion;
};
struct FileFailed {
    std::uint64_t index = 0;
    std::uint64_t code = 0;  ///< CloseCode
    std::string path;
    std::string reason;
};
/// Entries that were delivered without something that belongs to them. Before CONFIRM or STOPPED, one of a kind.
struct Unset {
    transfer::Unset entries;
};
/// What the receiver has.
struct Totals {
    std::uint64_t files = 0;
    std::uint64_t directories = 0;
    std::uint64_t links = 0;
    std::uint64_t bytes = 0;          ///< apparent sizes of the files delivered
    std::uint64_t written_bytes = 0;  ///< data that came and was written, also of files that are not complete
    std::uint64_t failures = 0;       ///< entries that were announced and not delivered
    std::uint64_t unchanged = 0;      ///< files and links that were the same already
    std::uint64_t skipped = 0;        ///< those that were not to be overwritten
    std::uint64_t erased = 0;         ///< entries that were deleted
    std::uint64_t files_done = 0;     ///< files, and other names of them, that need nothing more
    friend bool operator==(const Totals&, const Totals&) noexcept = default;
};
/// What is safe so far; for progress and for reports of a transfer that is cut off.
struct Delivered {
    Totals totals;
};
/// Everything is done.
struct Confirm {
    Totals totals;
    Digest root;
};
/// The end before the end: the receiver has tidied up, nothing changes any more.
struct Stopped {
    std::uint64_t code = 0;  ///< CloseCode
    std::string reason;
    Totals totals;
};

/// Whether there is anything that a file could be compared with.
struct Resume {
    bool active = false;
    std::string note;           ///< for the user: why not, or what was found wrong; may be empty
    bool announce_all = false;  ///< also files that are the same, as kept: the receiver writes a receipt
    bool keeps = false;         ///< what comes is written down, so that another run of this transfer continues
};
/// What the receiver's side has spare: parts of a thousand of the time since the last one.
struct Load {
    std::uint64_t disk = 0;  ///< the writer was at work
    std::uint64_t cpu = 0;   ///< the protocol thread was running or waiting for a processor
};
/// At most so much may come from now on, in place of what the handshake said.
struct Cap {
    std::uint64_t bits_per_second = 0;  ///< 0: no cap
};
/// Of a shard whose job has a rate: this much of that is its own from now on, beside any other cap.
struct Share {
    std::uint64_t bits_per_second = 0;  ///< above 0
};
struct Answer {
    std::uint64_t number = 0;  ///< of the query
    Holding has = Holding::nothing;
    std::uint64_t damaged = 0;  ///< pieces that the journal knows and that are not on the disk as it says
    std::vector<ProvenPiece> pieces;
    std::uint8_t changes = 0;  ///< of a dry run, see namespace change
};
/// For the user: what is not as it was sent and yet no failure.
struct Note {
    std::string text;
};
/// What was deleted, or would be.
struct Erased {
    std::vector<std::string> paths;
};

}  // namespace message

using Message =
    std::variant<message::Offer, message::Entry, message::Extents, message::Digests, message::FileEnd, message::Finish,
                 message::Kept, message::Query, message::Meta, message::Rules, message::Accept, message::FileFailed,
                 message::Delivered, message::Confirm, message::Stopped, message::Resume, message::Answer,
                 message::Erased, message::Load, message::Cap, message::Plan, message::Sources, message::Pull,
                 message::Names, message::Note, message::Share, message::Found, message::Unset, message::Unsent>;

}  // namespace udtx::transfer

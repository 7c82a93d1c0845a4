// Messages of the control stream. Layouts: docs/inside/transfer-protocol.md. `kType` is the number of a message on the
// wire, and fields() lists what follows it: see transfer/message/fields.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "transfer/checksum.hpp"
#include "transfer/names.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxNotes = 64;                 // of one sender
inline constexpr std::size_t kMaxMessageBytes = 64U << 10U;  // type and body
/// Queries that are sent before the receiver has said whether it has anything. They take about one round trip and open
/// the congestion window as data would. Their files may be sent along with them.
inline constexpr std::size_t kAskedEarly = 256;
inline constexpr std::size_t kMaxListItems = 1024;  // extents or digests in one message
inline constexpr std::size_t kMaxTextBytes = 1024;
inline constexpr std::uint64_t kMaxExtentBytes = 64U << 20U;    // the most that a receiver accepts
inline constexpr std::uint64_t kMaxNumber = (1ULL << 62U) - 1;  // the largest in a message
inline constexpr std::uint64_t kNoEntry = kMaxNumber;           // index of a failed entry that was not announced
inline constexpr std::size_t kMaxAttributes = 64;               // extended attributes of one entry
inline constexpr std::size_t kMaxAttributeBytes = 48U << 10U;   // names and values of all attributes
inline constexpr std::size_t kMaxRuleBytes = kMaxTextBytes;     // of one pattern
inline constexpr std::size_t kMaxListedPathBytes = 60U << 10U;  // of all paths or names in one message

inline constexpr std::uint64_t kMostBitsPerSecond = 1'000'000'000'000'000;
inline constexpr std::uint64_t kMostDatagramBytes = 65535;
inline constexpr std::uint64_t kMaxMode = 07777;
inline constexpr std::uint64_t kMaxId = std::numeric_limits<std::uint32_t>::max();  // of a user or a group
inline constexpr std::uint64_t kMaxErrno = 4095;

/// Adds to a sum of sizes. The sum stays a number that fits into a message.
constexpr void add_up(std::uint64_t& sum, std::uint64_t more) noexcept {
    sum = sum <= kMaxNumber && more <= kMaxNumber - sum ? sum + more : kMaxNumber;
}

inline constexpr const char* kTooOld =
    "the peer speaks an older version of the transfer protocol: install udtx 0.2 or newer there";

/// The error that ends a transfer because the peer violates the protocol.
[[nodiscard]] inline Error broken(const char* what) { return {ErrorCode::protocol, what}; }

enum class TransferMode : std::uint8_t {
    tree = 0,
    stream = 1,
    probe = 2,  ///< an ordered stream that the receiver drops: it only measures the path
};
enum class FileStatus : std::uint8_t {
    ok = 0,
    changed = 1,     ///< the source changed while it was read
    unreadable = 2,  ///< a read failed
    skipped = 3,     ///< not sent to the end because the receiver had reported FILE_FAILED
    kept = 4,        ///< not sent: the receiver has its content
};
/// What the receiver has of a file, from an earlier run or as an older version.
enum class Holding : std::uint8_t {
    nothing = 0,
    file = 1,         ///< all of it, under its final name
    pieces = 2,       ///< these pieces, and more in further answers
    last_pieces = 3,  ///< these pieces
    same = 4,         ///< a file of that size and time: do not announce it
    exists = 5,       ///< an entry that must not be overwritten: do not announce the file
    all_pieces = 6,   ///< the last pieces of a file of that size, which is complete if all of them are right
    blocked = 7,      ///< an entry that cannot make way, as FILE_FAILED reports: do not announce the file
};

/// Part of a file that holds data.
using Extent = FileRange;

/// A piece that is on the receiver's disk and has this digest there.
struct ProvenPiece {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    Digest digest;
    friend bool operator==(const ProvenPiece&, const ProvenPiece&) noexcept = default;
};

void shard_fields(auto& io, auto& shard) {
    io.u64(shard.job);
    io.varint_to(kMaxShards - 1, shard.index);
    io.varint_to(kMaxShards, shard.count);
    io.require([&] { return shard.index < shard.count; });
    io.u64(shard.split);
    io.varint_to(kMostBitsPerSecond, shard.bits_per_second);
    io.u64(shard.selection, shard.run, shard.delivered_run);
    io.flags(shard.content);
    if (shard.content) {
        io.varint(shard.content->entries);
        io.u64(shard.content->bytes, shard.content->names);
    }
}

namespace message {

// --- sender to receiver
struct Offer {
    static constexpr std::uint8_t kType = 1;
    std::uint64_t version = kTransferVersion;
    TransferMode mode = TransferMode::tree;
    bool preserve = false;
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::vector<std::string> destination;
    std::uint64_t transfer = 0;  ///< the same in each run of a command; 0: nothing is kept for another run
    Overwrite overwrite = Overwrite::diff;
    bool owner = false;      ///< set user and group numbers, where the receiver may set them
    bool sparse = false;     ///< blocks of zeros become holes
    bool dry_run = false;    ///< only queries; nothing is written
    bool erase = false;      ///< --delete: what is not sent is deleted
    bool by_digest = false;  ///< equal size and time do not prove that a file is the same
    bool set_id = false;     ///< with preserve, set-user-ID and set-group-ID bits of files, if the receiver allows it
    std::optional<JobShard> shard{};  ///< set for one of several transfers that share a tree

    static void fields(auto& io, auto& m) {
        io.version(m.version, kOldestTransferVersion);
        io.byte(m.mode, TransferMode::probe);
        io.flags(m.preserve, m.owner, m.sparse, m.dry_run, m.erase, m.by_digest, m.set_id, m.shard);
        io.hash(m.hash);
        io.path(m.destination);
        io.u64(m.transfer);
        io.byte(m.overwrite, Overwrite::always);
        if (m.shard) shard_fields(io, *m.shard);
    }
};
struct Entry {
    static constexpr std::uint8_t kType = 2;
    std::uint64_t index = 0;  ///< counts entries of all types from 0
    EntryType type = EntryType::file;
    std::vector<std::string> path;
    std::uint32_t mode = 0;  ///< permission bits, 07777
    FileTime mtime{};
    std::uint64_t size = 0;
    bool sparse = false;              ///< has holes: do not reserve disk space for all of it
    bool whole = false;               ///< one extent from 0 to size; otherwise EXTENTS messages follow
    std::string target;               ///< of a symlink; of a hard link: path of the other name, below the destination
    std::optional<FileRange> part{};  ///< for a shard: the part that is sent; another shard has the rest

    static void fields(auto& io, auto& m) {
        io.varint(m.index);
        io.byte(m.type, EntryType::hard_link);
        io.path(m.path);
        io.varint_to(kMaxMode, m.mode);
        io.time(m.mtime);
        if (m.type == EntryType::file) {
            io.varint(m.size);
            io.flags(m.sparse, m.whole, m.part);
            if (m.part) io.range(*m.part);
        }
        if (m.type == EntryType::symlink || m.type == EntryType::hard_link) io.name(m.target, kMaxPathBytes);
    }
};
struct Attribute {
    std::string name;
    std::string value;
    friend bool operator==(const Attribute&, const Attribute&) noexcept = default;
};
/// More about the latest entry, a file or a directory. It follows directly, or for a kept file after its FILE_END.
struct Meta {
    static constexpr std::uint8_t kType = 9;
    std::uint64_t index = 0;
    bool has_owner = false;
    bool has_attributes = false;  ///< `attributes` is complete: the receiver removes all others
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::vector<Attribute> attributes;

    static void fields(auto& io, auto& m) {
        io.varint(m.index);
        io.flags(m.has_owner, m.has_attributes);
        io.varint_to(kMaxId, m.user, m.group);
        std::size_t bytes = 0;
        io.list(m.attributes, kMaxAttributes, [&](auto& attribute) {
            io.name(attribute.name, kMaxComponentBytes);
            io.name(attribute.value, kMaxAttributeBytes);
            bytes += attribute.name.size() + attribute.value.size();
            io.require([&] { return bytes <= kMaxAttributeBytes && attribute.name.find('\0') == std::string::npos; });
        });
    }
};
/// What --delete must not remove. Sent before the first entry. If it is sent several times, the rules add up.
struct Rules {
    static constexpr std::uint8_t kType = 10;
    bool contents = false;  ///< the destination itself takes the contents of a directory
    std::vector<FilterRule> rules;

    static void fields(auto& io, auto& m) {
        io.byte(m.contents, true);
        io.list(m.rules, kMaxListItems, [&](auto& rule) {
            io.byte(rule.include, true);
            io.text(rule.pattern, kMaxRuleBytes);
        });
    }
};
/// More data of the latest file, in ascending order. Its pieces follow in the data stream in the same order.
struct Extents {
    static constexpr std::uint8_t kType = 3;
    std::uint64_t index = 0;
    std::vector<Extent> extents;

    static void fields(auto& io, auto& m) {
        io.varint(m.index);
        io.list(m.extents, kMaxListItems, [&](auto& extent) { io.range(extent); });
    }
};
struct Digests {
    static constexpr std::uint8_t kType = 4;
    std::uint64_t index = 0;
    std::uint64_t first = 0;  ///< ordinal, within the file, of the first piece
    std::vector<Digest> digests;

    static void fields(auto& io, auto& m) {
        io.varint(m.index, m.first);
        io.list(m.digests, kMaxListItems, [&](auto& digest) { io.digest(digest); });
    }
};
struct FileEnd {
    static constexpr std::uint8_t kType = 5;
    std::uint64_t index = 0;
    FileStatus status = FileStatus::ok;
    Digest digest;            ///< see file_digest in docs; empty unless ok
    std::uint64_t error = 0;  ///< errno of the sender's system if unreadable; 0: unknown

    static void fields(auto& io, auto& m) {
        io.varint(m.index);
        io.byte(m.status, FileStatus::kept);
        io.digest(m.digest);
        if (m.status == FileStatus::unreadable) io.varint_to(kMaxErrno, m.error);
    }
};
struct Finish {
    static constexpr std::uint8_t kType = 6;
    std::uint64_t entries = 0;
    std::uint64_t data_bytes = 0;  ///< of the data stream
    std::uint64_t unsent = 0;      ///< entries that the sender could not read or name, and did not announce
    Digest root;

    static void fields(auto& io, auto& m) {
        io.varint(m.entries, m.data_bytes, m.unsent);
        io.digest(m.root);
    }
};
/// As Extents, but for pieces that are not sent: the receiver has them, according to its answers.
struct Kept {
    static constexpr std::uint8_t kType = 7;
    std::uint64_t index = 0;
    std::vector<Extent> extents;

    static void fields(auto& io, auto& m) {
        io.varint(m.index);
        io.list(m.extents, kMaxListItems, [&](auto& extent) { io.range(extent); });
    }
};
/// Asks what the receiver has of this file. There is no answer after a Resume that is not active.
struct Query {
    static constexpr std::uint8_t kType = 8;
    std::uint64_t number = 0;  ///< counts queries from 0
    std::vector<std::string> path;
    std::uint64_t size = 0;
    FileTime mtime{};
    std::uint32_t mode = 0;  ///< as in Entry
    // In a dry run: what else would be set.
    bool has_owner = false;
    bool has_attributes = false;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    std::uint64_t attributes = 0;     ///< attributes_key() of the attributes
    std::optional<FileRange> part{};  ///< as in Entry

    static void fields(auto& io, auto& m) {
        io.varint(m.number);
        io.path(m.path);
        io.varint(m.size);
        io.time(m.mtime);
        io.varint_to(kMaxMode, m.mode);
        io.flags(m.has_owner, m.has_attributes, m.part);
        if (m.part) io.range(*m.part);
        if (m.has_owner) io.varint_to(kMaxId, m.user, m.group);
        if (m.has_attributes) io.u64(m.attributes);
    }
};

/// Names that the sender has but does not send: excluded names, links or kinds that are not sent. --delete keeps them.
struct Unsent {
    static constexpr std::uint8_t kType = 13;
    std::vector<std::string> paths;

    static void fields(auto& io, auto& m) { io.names(m.paths); }
};
/// In a dry run that the receiver requested: what would happen to one entry.
struct Plan {
    static constexpr std::uint8_t kType = 11;
    PlannedEntry entry;

    static void fields(auto& io, auto& m) {
        io.byte(m.entry.kind, PlannedEntry::Kind::skip);
        io.byte(m.entry.type, EntryType::hard_link);
        io.byte(m.entry.changes);
        io.name(m.entry.path, kMaxPathBytes);
        io.varint(m.entry.size);
        io.name(m.entry.target, kMaxPathBytes);
    }
};
/// The first answer to PULL: what exists of the requested sources.
struct Sources {
    static constexpr std::uint8_t kType = 12;
    struct Missing {
        std::string path;
        std::string reason;
    };
    SourceShape shape = SourceShape::several;
    std::vector<Missing> missing;

    static void fields(auto& io, auto& m) {
        io.byte(m.shape, SourceShape::stream);
        io.list(m.missing, kMaxListItems, [&](auto& source) {
            io.text(source.path);
            io.text(source.reason);
        });
    }
};

/// How much there is to do, for the receiver's progress report. It only grows until it is final. After that it shrinks
/// by what turns out to exist already.
struct Found {
    static constexpr std::uint8_t kType = 14;
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;  ///< bytes of the data stream, as far as the sender can foresee
    bool final = false;       ///< all sources were searched
    friend bool operator==(const Found&, const Found&) noexcept = default;

    static void fields(auto& io, auto& m) {
        io.varint(m.files);
        io.capped(kMaxNumber, m.bytes);
        io.byte(m.final, true);
    }
};

/// Counters of the sender's paths, for the receiver's reports.
struct Paths {
    static constexpr std::uint8_t kType = 15;
    std::vector<SenderPath> paths;

    static void fields(auto& io, auto& m) {
        io.list(m.paths, kMaxListItems, [&](auto& path) {
            io.byte(path.id.value);
            io.varint(path.sent_packets, path.lost_packets, path.retransmitted_packets);
            io.rate(path.mtr, kMostBitsPerSecond);
            io.capped(kMostDatagramBytes, path.datagram_bytes);
        });
    }
};

// --- receiver to sender
/// The request of a receiver that connected. RULES and NAMES may follow. ACCEPT ends the request.
struct Pull {
    static constexpr std::uint8_t kType = 26;
    std::uint64_t version = kTransferVersion;
    TransferMode mode = TransferMode::tree;  ///< stream: one file, as a stream
    Selection what{};                        ///< without its rules; of names only whether there are any
    std::uint64_t transfer = 0;              ///< as in Offer

    static void fields(auto& io, auto& m) {
        auto& what = m.what;
        io.version(m.version, kOldestTransferVersion);
        io.byte(m.mode, TransferMode::stream);
        io.flags(what.preserve, what.owner, what.sparse, what.dry_run, what.erase, what.by_digest, what.attributes,
                 what.hard_links, what.names, what.into_named, what.set_id, what.part, what.shard);
        io.byte(what.links, LinkChoice::skip);
        io.hash(what.hash);
        io.byte(what.overwrite, Overwrite::always);
        io.u64(m.transfer);
        io.names(what.sources);
        if (what.part) {
            io.text(what.part->from, kMaxPathBytes);
            io.text(what.part->to, kMaxPathBytes);
            io.varint(what.part->from_offset, what.part->to_offset);
        }
        if (what.shard) shard_fields(io, *what.shard);
    }
};
/// The names that the receiver requests.
struct Names {
    static constexpr std::uint8_t kType = 27;
    std::vector<std::string> names;

    static void fields(auto& io, auto& m) { io.names(m.names); }
};
struct Accept {
    static constexpr std::uint8_t kType = 16;
    std::uint64_t version = kTransferVersion;

    static void fields(auto& io, auto& m) { io.varint(m.version); }
};
struct FileFailed {
    static constexpr std::uint8_t kType = 17;
    std::uint64_t index = 0;
    std::uint64_t code = 0;  ///< CloseCode
    std::string path;
    std::string reason;

    static void fields(auto& io, auto& m) {
        io.varint(m.index, m.code);
        io.text(m.path);
        io.text(m.reason);
    }
};
/// Entries that were delivered without one of their properties. Sent before CONFIRM or STOPPED, one message for each
/// kind.
struct Unset {
    static constexpr std::uint8_t kType = 28;
    transfer::Unset entries;

    static void fields(auto& io, auto& m) {
        io.byte(m.entries.what, Belonging::hard_link);
        io.varint(m.entries.files, m.entries.directories, m.entries.links);
        io.text(m.entries.first);
        io.text(m.entries.reason);
    }
};
/// What the receiver has.
struct Totals {
    std::uint64_t files = 0;
    std::uint64_t directories = 0;  ///< that were made, or got other attributes
    std::uint64_t links = 0;
    std::uint64_t bytes = 0;                  ///< apparent sizes of the files delivered
    std::uint64_t written_bytes = 0;          ///< data that arrived and was written, also of incomplete files
    std::uint64_t failures = 0;               ///< entries that were announced but not delivered
    std::uint64_t unchanged = 0;              ///< files and links that were the same already
    std::uint64_t skipped = 0;                ///< files and links that must not be overwritten
    std::uint64_t erased = 0;                 ///< entries that were deleted
    std::uint64_t files_done = 0;             ///< files, and other names of them, that need nothing more
    std::uint64_t unchanged_directories = 0;  ///< directories that existed with the same attributes
    friend bool operator==(const Totals&, const Totals&) noexcept = default;

    static void fields(auto& io, auto& m) {
        io.varint(m.files, m.directories, m.links);
        io.capped(kMaxNumber, m.bytes, m.written_bytes);
        io.varint(m.failures, m.unchanged, m.skipped, m.erased, m.files_done, m.unchanged_directories);
    }
};
/// What is safe so far, for progress and for reports of an interrupted transfer.
struct Delivered {
    static constexpr std::uint8_t kType = 18;
    Totals totals;

    static void fields(auto& io, auto& m) { Totals::fields(io, m.totals); }
};
/// Everything is done.
struct Confirm {
    static constexpr std::uint8_t kType = 19;
    Totals totals;
    Digest root;

    static void fields(auto& io, auto& m) {
        Totals::fields(io, m.totals);
        io.digest(m.root);
    }
};
/// The early end: the receiver has cleaned up, and nothing changes any more.
struct Stopped {
    static constexpr std::uint8_t kType = 20;
    std::uint64_t code = 0;  ///< CloseCode
    std::string reason;
    Totals totals;

    static void fields(auto& io, auto& m) {
        io.varint(m.code);
        io.text(m.reason);
        Totals::fields(io, m.totals);
    }
};

/// Whether the receiver has anything that a file could be compared with.
struct Resume {
    static constexpr std::uint8_t kType = 21;
    bool active = false;
    std::string note;           ///< for the user: why not, or which errors were found; may be empty
    bool announce_all = false;  ///< unchanged files are announced too, as kept: the receiver writes a receipt
    bool keeps = false;         ///< what arrives is recorded, so that another run of this transfer can continue

    static void fields(auto& io, auto& m) {
        io.flags(m.active, m.announce_all, m.keeps);
        io.text(m.note);
    }
};
/// The load of the receiver, in thousandths of the time since the last Load.
struct Load {
    static constexpr std::uint8_t kType = 23;
    std::uint64_t disk = 0;  ///< the writer was working
    std::uint64_t cpu = 0;   ///< the protocol thread was running or waiting for a processor

    static void fields(auto& io, auto& m) { io.varint_to(1000, m.disk, m.cpu); }
};
/// The highest rate from now on, in place of the one in the handshake.
struct Cap {
    static constexpr std::uint8_t kType = 24;
    std::uint64_t bits_per_second = 0;  ///< 0: no cap

    static void fields(auto& io, auto& m) { io.varint_to(kMostBitsPerSecond, m.bits_per_second); }
};
/// For a shard whose job has a rate: the part of that rate that is its own from now on, besides any other cap.
struct Share {
    static constexpr std::uint8_t kType = 30;
    std::uint64_t bits_per_second = 0;  ///< above 0

    static void fields(auto& io, auto& m) {
        io.varint_to(kMostBitsPerSecond, m.bits_per_second);
        io.require([&] { return m.bits_per_second > 0; });
    }
};
/// For a shard: its job, as the receiver has it. Sent before the first Answer and before Confirm.
struct Job {
    static constexpr std::uint8_t kType = 31;
    std::uint64_t run = 0;      ///< JobState::run
    std::uint64_t done = 0;     ///< shards that have delivered everything
    std::uint64_t waiting = 0;  ///< files that have no final name yet

    static void fields(auto& io, auto& m) {
        io.u64(m.run);
        io.varint_to(kMaxShards, m.done);
        io.varint(m.waiting);
    }
};
struct Answer {
    static constexpr std::uint8_t kType = 22;
    std::uint64_t number = 0;  ///< of the query
    Holding has = Holding::nothing;
    std::uint64_t damaged = 0;  ///< pieces that the journal lists and that the disk does not have as listed
    std::vector<ProvenPiece> pieces;
    std::uint8_t changes = 0;  ///< in a dry run: see namespace change

    static void fields(auto& io, auto& m) {
        io.varint(m.number);
        io.byte(m.has, Holding::blocked);
        io.varint(m.damaged);
        io.byte(m.changes);
        io.list(m.pieces, kMaxListItems, [&](auto& piece) { io.piece(piece); });
    }
};
/// A text for the user: something differs from what was sent, but did not fail.
struct Note {
    static constexpr std::uint8_t kType = 29;
    std::string text;

    static void fields(auto& io, auto& m) { io.text(m.text); }
};
/// Entries that were deleted, or in a dry run would be.
struct Erased {
    static constexpr std::uint8_t kType = 25;
    std::vector<std::string> paths;

    static void fields(auto& io, auto& m) { io.names(m.paths); }
};

}  // namespace message

using Message =
    std::variant<message::Offer, message::Entry, message::Extents, message::Digests, message::FileEnd, message::Finish,
                 message::Kept, message::Query, message::Meta, message::Rules, message::Accept, message::FileFailed,
                 message::Delivered, message::Confirm, message::Stopped, message::Resume, message::Answer,
                 message::Erased, message::Load, message::Cap, message::Plan, message::Sources, message::Pull,
                 message::Names, message::Note, message::Share, message::Found, message::Unset, message::Unsent,
                 message::Paths, message::Job>;

}  // namespace udtx::transfer

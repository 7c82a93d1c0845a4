// The formats of the two files that the shards of a job share. Both are in the directory that takes the job, with mode
// 0600. A process holds an flock on the job file while it uses either. The last shard removes both.
//
// .udtx-<job, 16 hex digits>.job has records as in file/records.hpp. A shard syncs its records before they count. At
// most 128 MiB.
//
// | type | record     | fields                                                                              |
// |------|------------|-------------------------------------------------------------------------------------|
// | 1    | Head       | varint version (3), u64 job, varint count of shards, u64 Split::digest(), hash,     |
// |      |            | u64 selection_number(), u64 run                                                     |
// | 2    | FileBegun  | u64 temporary, path, varint size, time                                              |
// | 3    | PartPiece  | u64 temporary, varint offset, varint length, digest                                 |
// | 4    | PartFilled | u64 temporary, varint offset, varint length, times mtime and ctime of the file      |
// | 5    | FileNamed  | u64 temporary                                                                       |
// | 6    | ShardState | varint index, u8: 0 a run has begun, 1 it has delivered everything, 2 it delivered  |
// |      |            | everything in another run of the job and found it unchanged                         |
// | 7    | Top        | path of one component, time at which that directory was made                        |
// | 8    | FileOpened | u64 temporary, varint index of a shard, u8: 1 nothing but a shard has changed it    |
// | 9    | FileLeft   | u64 temporary, times mtime and ctime of the file                                    |
// | 10   | PartVoid   | u64 temporary, varint offset of a part                                              |
//
// `temporary` makes the name of the temporary file (JobFile::temporary_for()). The first record, and only it, is a
// Head. The receiver refuses a shard that has another split, hash or selection than the Head. `run` is a random number
// of this file (JobState::run). If a Top is missing or was made at another time, what the shards delivered into it is
// gone, and the next shard begins a new file. A file of other records than a Head is refused: it may record shards that
// are done.
//
// .udtx-<job>.shards has a slot of 128 bytes for each shard, in the order of their indices. A slot is the eleven u64 of
// ShardSlot (shard/job_rate.hpp) in the order of their declaration, then zeros. A shard writes its slot every 0.25 s if
// the job has a rate, otherwise every second. Nothing in this file is needed after a crash, so nobody syncs it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

inline constexpr std::uint64_t kJobFileVersion = 3;
// Enough for about 2 TB of files that are cut.
inline constexpr std::uint64_t kMaxJobFileBytes = 128U << 20U;

namespace job_record {
/// Only the first record is a Head.
struct Head {
    static constexpr std::uint8_t kType = 1;
    std::uint64_t version = kJobFileVersion;
    std::uint64_t job = 0;
    std::uint64_t count = 1;  ///< of shards
    std::uint64_t split = 0;  ///< digest of how they cut the tree
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    std::uint64_t selection = 0;  ///< hash of which entries they select
    std::uint64_t run = 0;        ///< random, made with the file
    static void fields(auto& io, auto& r) {
        io.varint(r.version);
        io.u64(r.job);
        io.varint_to(kMaxShards, r.count);
        io.u64(r.split);
        io.hash(r.hash);
        io.require([&] { return r.count > 0 && r.version == kJobFileVersion; });
        io.u64(r.selection, r.run);
    }
};
/// An empty temporary file exists for this version of a file. Earlier records about it are void.
struct FileBegun {
    static constexpr std::uint8_t kType = 2;
    std::uint64_t temporary = 0;  ///< the number that makes its name
    std::vector<std::string> path;
    std::uint64_t size = 0;
    FileTime mtime{};
    static void fields(auto& io, auto& r) {
        io.u64(r.temporary);
        io.path(r.path);
        io.varint(r.size);
        io.time(r.mtime);
        io.require([&] { return check_path(r.path).ok(); });
    }
};
/// A piece of the part that the next PartFilled reports.
struct PartPiece {
    static constexpr std::uint8_t kType = 3;
    std::uint64_t temporary = 0;
    ProvenPiece piece;
    static void fields(auto& io, auto& r) {
        io.u64(r.temporary);
        io.piece(r.piece);
    }
};
/// All data of that part is on disk in the temporary file.
struct PartFilled {
    static constexpr std::uint8_t kType = 4;
    std::uint64_t temporary = 0;
    FileRange part{};
    FileTimes times{};  ///< after that
    static void fields(auto& io, auto& r) {
        io.u64(r.temporary);
        io.range(r.part);
        io.times(r.times);
    }
};
/// This run of a shard writes the file. A ShardState of that index ends it.
struct FileOpened {
    static constexpr std::uint8_t kType = 8;
    std::uint64_t temporary = 0;
    std::uint64_t index = 0;
    bool sure = true;  ///< since the latest times on record only shards have written it
    static void fields(auto& io, auto& r) {
        io.u64(r.temporary);
        io.varint_to(kMaxShards - 1, r.index);
        io.byte(r.sure, true);
    }
};
/// A shard stops writing before its part is filled.
struct FileLeft {
    static constexpr std::uint8_t kType = 9;
    std::uint64_t temporary = 0;
    FileTimes times{};
    static void fields(auto& io, auto& r) {
        io.u64(r.temporary);
        io.times(r.times);
    }
};
/// Another program changed that part.
struct PartVoid {
    static constexpr std::uint8_t kType = 10;
    std::uint64_t temporary = 0;
    std::uint64_t offset = 0;
    static void fields(auto& io, auto& r) {
        io.u64(r.temporary);
        io.varint(r.offset);
    }
};
/// The file has its final name.
struct FileNamed {
    static constexpr std::uint8_t kType = 5;
    std::uint64_t temporary = 0;
    static void fields(auto& io, auto& r) { io.u64(r.temporary); }
};
/// How far a shard is.
struct ShardState {
    static constexpr std::uint8_t kType = 6;
    enum class State : std::uint8_t {
        begun,
        delivered,  ///< everything is delivered
        found       ///< an earlier run of the job delivered everything, and it is unchanged
    };
    std::uint64_t index = 0;
    State state = State::begun;
    static void fields(auto& io, auto& r) {
        io.varint_to(kMaxShards - 1, r.index);
        io.byte(r.state, State::found);
    }
};
/// A directory at the top that a shard has delivered into.
struct Top {
    static constexpr std::uint8_t kType = 7;
    std::vector<std::string> path;  ///< one component
    FileTime made{};
    static void fields(auto& io, auto& r) {
        io.path(r.path);
        io.require([&] { return r.path.size() == 1 && check_path(r.path).ok(); });
        io.time(r.made);
    }
};
}  // namespace job_record

using JobRecord = std::variant<job_record::Head, job_record::FileBegun, job_record::PartPiece, job_record::PartFilled,
                               job_record::FileNamed, job_record::ShardState, job_record::Top, job_record::FileOpened,
                               job_record::FileLeft, job_record::PartVoid>;

/// A file that several shards fill, as it is at the source.
struct SharedVersion {
    std::string path;
    std::uint64_t size = 0;
    FileTime mtime{};
    friend bool operator==(const SharedVersion&, const SharedVersion&) noexcept = default;
};

/// The state after all records of the file.
class JobImage {
  public:
    /// A file that several shards fill.
    struct SharedFile {
        SharedVersion version;
        std::map<std::uint64_t, std::uint64_t> filled{};     ///< lengths of parts, by offset
        std::map<std::uint64_t, ProvenPiece> pieces{};       ///< pieces of these parts, by offset
        std::map<std::uint64_t, ProvenPiece> next_pieces{};  ///< pieces of a part that has no PartFilled yet
        std::optional<FileTimes> times{};                    ///< when the latest part was filled or left
        std::map<std::uint64_t, bool> writers{};             ///< shards that write it: FileOpened::sure, by index
        /// Its pieces in that range.
        [[nodiscard]] std::vector<ProvenPiece> pieces_in(const FileRange& range) const;
        [[nodiscard]] bool is_whole() const { return first_gap().length == 0; }
        /// The first range that no filled part covers.
        [[nodiscard]] FileRange first_gap() const;
    };

    /// Continues with `bytes`, which begin at `offset` of the file. Stops at the first record that is torn, altered or
    /// contradictory. Returns how many bytes were read.
    std::size_t read(std::span<const std::byte> bytes, std::uint64_t offset);

    bool has_head = false;
    job_record::Head head;
    std::map<std::uint64_t, SharedFile> files;                         ///< by the number that makes the temporary name
    std::map<std::uint64_t, SharedVersion> named;                      ///< such files that have their final names
    std::vector<std::optional<job_record::ShardState::State>> shards;  ///< empty: it has not begun
    std::map<std::string, FileTime> tops;                              ///< when these directories were made
    /// True if shards that have run would have to run again without this file.
    [[nodiscard]] bool waits() const { return has_head && any_delivered() && !(files.empty() && all_done()); }
    /// True if this run of the job has data, and not only shards that found theirs.
    [[nodiscard]] bool any_delivered() const {
        return !files.empty() || std::ranges::count(shards, job_record::ShardState::State::delivered) > 0;
    }
    /// Shards that have delivered everything.
    [[nodiscard]] std::size_t done() const;
    [[nodiscard]] bool all_done() const { return done() == shards.size(); }
    /// True if a run of a shard has begun that has not delivered everything.
    [[nodiscard]] bool any_begun() const {
        return std::ranges::count(shards, job_record::ShardState::State::begun) > 0;
    }
};

}  // namespace udtx::transfer

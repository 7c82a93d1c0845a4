// Gives finished temporary files their final names, a group at a time. Contents are durable before their names, and
// names before anyone is told of them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/clear_way.hpp"
#include "transfer/landing/entry_claims.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/resume/journal_format.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Identifies a file, whatever its name is.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    static FileId of(const struct stat& st) noexcept {
        return {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino)};
    }
    friend bool operator==(const FileId&, const FileId&) noexcept = default;
};

/// The last bytes of a file, which show whether a disk has kept what it accepted.
struct LastPiece {
    HashAlgorithm hash{};
    ProvenPiece piece{};
};

/// An entry that is complete except for its final name.
struct Commit {
    std::uint64_t index = 0;
    EntryType type = EntryType::file;
    std::string directory;  ///< directory of both names, below the root
    std::string temporary;  ///< empty for a directory: it has its name, and only its parent needs a sync
    std::string name;
    std::optional<FileId> is{};  ///< the file that the temporary name must refer to
    UniqueFd fd;  ///< a file that needs its own sync; none: it is closed, and the root's file system is synced
    int closing_error = 0;  ///< errno of a file that is already closed
    std::uint64_t size = 0;
    std::uint64_t length = 0;          ///< of the finished file: `size` may be that of a part
    std::optional<LastPiece> last{};   ///< where it is worth reading back
    std::optional<Digest> whole{};     ///< of a file without holes
    std::optional<Digest> sequence{};  ///< of all bytes, for a stream
    /// All pieces of a file that other shards filled too.
    std::function<std::vector<ProvenPiece>()> pieces{};
    bool counted = false;                ///< the file existed and was reported before: it only gets another inode
    std::optional<FileTime> time{};      ///< time that the file is to have
    std::optional<FileTime> had{};       ///< time that the disk stored for it, read before the file was closed
    std::optional<record::Done> done{};  ///< record for the journal
    std::uint64_t unproven = 0;          ///< bytes that must be sent again if the receiver is killed now
    /// For a part of a file that other shards fill too: records that the part is on disk. True: the file is complete
    /// and gets its name.
    std::function<Result<bool>(int fd)> fill{};
    DeleteReplaced remove_replaced{};  ///< a directory of that name may be replaced, and this deletes it
    std::optional<Error> why{};        ///< error of `fill`
    bool part_only = false;            ///< other parts of the file are still missing
    bool keep_existing = false;        ///< an existing entry of that name stays
    bool kept = false;                 ///< the file existed before, as a journal proves
    bool skipped = false;              ///< with keep_existing: an existing entry stayed
    bool replaced = false;             ///< the temporary name refers to another file
    bool taken = false;                ///< the file system treats the name as that of another entry of this transfer
    [[nodiscard]] std::string path() const { return directory.empty() ? name : directory + '/' + name; }
};

/// Called in the committer's task. Each commit is reported once: as delivered or as failed.
struct CommitCallbacks {
    std::function<void(const Commit&)> delivered;
    std::function<void(const Commit&, Error)> failed;
    std::function<void()> batch_over = [] {};
    std::function<void(const std::string& warning)> unsynced = [](const std::string&) {};  ///< at most once a batch
    std::function<bool()> worked = [] { return true; };  ///< a piece is read back; false: stop
};

/// Syncs contents, renames, syncs directories, and only then reports entries as delivered. Removes the temporary files
/// of failed commits, except files of other programs and files that other shards fill too.
void commit_batch(const ConfinedDir& root, EntryClaims& claims, std::vector<Commit>& batch,
                  const CommitCallbacks& callbacks);

}  // namespace udtx::transfer

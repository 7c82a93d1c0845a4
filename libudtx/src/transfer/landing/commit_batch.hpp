// Finished temporary files get their final names, a group at a time: contents are durable before their names, and names
// before anybody hears of them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/entry_claims.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/resume/journal_format.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// Which file it is, whatever its name.
struct FileId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    static FileId of(const struct stat& st) noexcept {
        return {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino)};
    }
    friend bool operator==(const FileId&, const FileId&) noexcept = default;
};

/// A thing that is complete but for its name.
struct Commit {
    std::uint64_t index = 0;
    EntryType type = EntryType::file;
    std::string directory;  ///< of both names, below the root
    std::string temporary;  ///< empty for a directory: it has its name, only its parent is to be synced
    std::string name;
    std::optional<FileId> is{};  ///< what the temporary name has to lead to
    UniqueFd fd;  ///< a file that is to be synced by itself; none: closed, the root's file system is to be synced
    int closing_error = 0;  ///< an errno, of a file that is closed
    std::uint64_t size = 0;
    std::optional<FileTime> time{};      ///< that it is to have ...
    std::optional<FileTime> had{};       ///< ... and what the disk made of it, before the file was closed
    std::optional<record::Done> done{};  ///< for the journal
    std::uint64_t unproven = 0;          ///< bytes that would be sent again if the receiver were killed now
    /// Of a part of a file that other shards fill, too: writes down that it is there. True: nothing of the file is
    /// missing, and it gets its name.
    std::function<Result<bool>(int fd)> fill{};
    std::optional<Error> why{};       ///< that has failed
    bool part_only = false;           ///< other parts are missing
    bool replaces_directory = false;  ///< an empty one may stand under the name
    bool keep_existing = false;       ///< what stands under the name stays ...
    bool kept = false;                ///< it was there, as a journal proves
    bool skipped = false;             ///< ... and something did
    bool replaced = false;            ///< the temporary name leads to another file
    bool taken = false;               ///< to the file system the name is that of something else that came
    [[nodiscard]] std::string path() const { return directory.empty() ? name : directory + '/' + name; }
};

/// Called in the committer's task, for each commit once.
struct CommitCallbacks {
    std::function<void(const Commit&)> delivered;
    std::function<void(const Commit&, Error)> failed;
    std::function<void()> batch_over = [] {};
    std::function<void(const std::string& warning)> unsynced = [](const std::string&) {};  ///< once a batch
};

/// Syncs contents, renames, syncs directories; only then reports as delivered. Temporary files of failed commits go.
void commit_batch(const ConfinedDir& root, EntryClaims& claims, std::vector<Commit>& batch,
                  const CommitCallbacks& callbacks);

}  // namespace udtx::transfer

// Compares what already exists under the final names with what the sender offers: whether a file is the same, and which
// of its blocks are. Runs in the writer's task.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/file/quirks/disk_times.hpp"
#include "transfer/landing/report.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"

namespace udtx::transfer {

struct BasisOptions {
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    Overwrite overwrite = Overwrite::diff;
    bool by_digest = false;
    std::uint32_t mode_bits = 0;  ///< mode bits to set on files that are the same otherwise
    bool dry_run = false;
};

/// An existing file is no longer what an answer has reported.
[[nodiscard]] Error changed_here(const std::string& path);

class BasisFiles {
  public:
    using Reply = std::function<void(message::Answer)>;

    /// The references must outlive this object.
    BasisFiles(const ConfinedDir& root, BasisOptions options, Report& report);
    /// Called with the mode that a file that is the same otherwise is to get, if it has several names.
    using SharedMode = std::function<void(const std::string& path, std::uint32_t mode)>;
    void on_shared_mode(SharedMode shared) { shared_mode_ = std::move(shared); }

    /// Looks `path` up and does not follow symbolic links. False: it does not exist, or its directory cannot be opened.
    [[nodiscard]] bool look(const std::string& path, struct stat& st);
    /// True if `st`, from the latest look(), has the time `wanted` or what the file system stores for it.
    [[nodiscard]] bool has_time(const struct stat& st, const FileTime& wanted) {
        return times_.agree(directory_fd_.get(), st, wanted);
    }
    /// True if nothing may be overwritten and an entry exists at `path`, or above it in the place of a directory.
    [[nodiscard]] bool must_stay(const std::string& path);
    /// True if `path` is a directory.
    [[nodiscard]] bool is_directory(const std::string& path);
    /// True if size and time are sufficient proof and a file of that size and time exists. The time may also be what
    /// the file system stores for `mtime`.
    [[nodiscard]] bool is_same(const std::string& path, std::uint64_t size, const FileTime& mtime);
    /// Answers a query by what exists at its path. Returns the Holding of the last answer. nullopt: go_on() must hash
    /// blocks first and then answers.
    [[nodiscard]] std::optional<Holding> answer(const message::Query& query, const Reply& reply);
    /// Hashes one more block for the latest answer. False: nothing is left to hash.
    bool go_on(const Reply& reply);

    /// The digest of a block of the existing file, if an answer has reported it.
    [[nodiscard]] std::optional<Digest> proven(const std::string& path, const Extent& piece) const;
    /// The state of the existing file before it was read, if an answer has reported all of its blocks and it has that
    /// size.
    [[nodiscard]] const struct stat* proven_file(const std::string& path, std::uint64_t size) const;
    /// True if an answer has reported blocks of a file of that name.
    [[nodiscard]] bool knows(const std::string& path) const;
    /// Copies from the existing file that an answer has reported. file_io: it cannot be read or has changed since.
    Result<void> copy(const std::string& path, const Extent& extent, TempFile& to);
    /// Bytes of memory held for the answers, without names.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return blocks_ * sizeof(Digest) + files_.size() * (sizeof(Basis) + 64);
    }
    /// Call it after the last query and before the times of directories are set: it removes the probes of DiskTimes.
    void close() { times_.close(); }
    /// Drops what is stored about a file. Nobody asks for it again.
    void forget(const std::string& path);

  private:
    struct Basis {
        struct stat st = {};
        std::vector<Digest> blocks;
        bool whole = false;  // all blocks are hashed, and the file has the size that was asked for
    };
    void set_mode(const std::string& path, const struct stat& st, std::uint32_t mode);
    /// A file whose blocks are being hashed for an answer.
    struct Hashing {
        std::string path;
        std::uint64_t size_asked = 0;
        std::uint64_t count = 0;  // number of blocks to hash
        UniqueFd fd;
        Basis basis{};
        message::Answer out;
        bool whole = false;  // no error so far
    };
    void begin_hashing(const std::string& path, const message::Query& query, std::uint64_t count);
    [[nodiscard]] bool hash_block(Hashing& file);
    void end_hashing(const Reply& reply);

    const ConfinedDir& root_;
    BasisOptions options_;
    Report& report_;
    SharedMode shared_mode_ = [](const std::string&, std::uint32_t) {};
    PieceHasher hasher_;
    DiskTimes times_;
    std::optional<Hashing> hashing_;
    std::unordered_map<std::uint64_t, Basis> files_;  // by path key
    std::size_t blocks_ = 0;                          // digests in files_, plus a fixed cost for each file
    std::string directory_;                           // directory of the latest look()
    UniqueFd directory_fd_;                           // its descriptor, if it could be opened
    int directory_error_ = 0;                         // errno, if it could not
};

}  // namespace udtx::transfer

// What stands under the final names already: whether it is what is to be sent, and which of its blocks are. For the
// writer's task.
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
#include "transfer/landing/disk_times.hpp"
#include "transfer/landing/temp_file.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/pieces/piece_hasher.hpp"

namespace udtx::transfer {

struct BasisOptions {
    HashAlgorithm hash = HashAlgorithm::xxh3_128;
    Overwrite overwrite = Overwrite::diff;
    bool by_digest = false;
    std::uint32_t mode_bits = 0;  ///< those that are set of files that are the same otherwise
    bool dry_run = false;
};

class BasisFiles {
  public:
    using Checked = std::function<bool(std::uint64_t bytes)>;
    using Reply = std::function<void(message::Answer)>;

    /// `root` outlives it. `checked` as in ReceiveResume.
    BasisFiles(const ConfinedDir& root, BasisOptions options, Checked checked);
    /// The mode of a file that is the same otherwise could not be set.
    using ModeUnset = std::function<void(const std::string& path, int error_number)>;
    void on_mode_unset(ModeUnset unset) { mode_unset_ = std::move(unset); }

    /// False: there is nothing, or no way to it.
    [[nodiscard]] bool look(const std::string& path, struct stat& st);
    /// Of what the latest look found.
    [[nodiscard]] bool has_time(const struct stat& st, const FileTime& wanted) {
        return times_.agree(directory_fd_.get(), st, wanted);
    }
    /// Something stands there, or above it where a directory is to come, and nothing may be overwritten.
    [[nodiscard]] bool must_stay(const std::string& path);
    /// A directory stands there.
    [[nodiscard]] bool is_directory(const std::string& path);
    /// A file of that size and time, or of what the disk makes of that time, stands there, and that is enough.
    [[nodiscard]] bool is_same(const std::string& path, std::uint64_t size, const FileTime& mtime);
    /// Answers by what stands there. The last answer's Holding; nullopt: its blocks are to be hashed first, by go_on().
    [[nodiscard]] std::optional<Holding> answer(const message::Query& query, const Reply& reply);
    /// Hashes one more block for the latest answer. False: there was nothing to do.
    bool go_on(const Reply& reply);

    /// From an answer: a block of the file that stands there.
    [[nodiscard]] std::optional<Digest> proven(const std::string& path, const Extent& piece) const;
    /// From an answer: all blocks of a file of that size.
    [[nodiscard]] bool proven_file(const std::string& path, std::uint64_t size) const;
    /// Some blocks of a file of that name were answered.
    [[nodiscard]] bool knows(const std::string& path) const;
    /// Copies from the file that was answered for. file_io: it is not that file any more.
    Result<void> copy(const std::string& path, const Extent& extent, TempFile& to);
    /// Memory of what was answered, without names.
    [[nodiscard]] std::uint64_t held() const noexcept {
        return blocks_ * sizeof(Digest) + files_.size() * (sizeof(Basis) + 64);
    }
    /// Nothing more is asked: times of directories are set after that.
    void close() { times_.close(); }
    /// It will not be asked for any more.
    void forget(const std::string& path);

  private:
    struct Basis {
        struct stat st = {};
        std::vector<Digest> blocks;
        bool whole = false;  // all blocks, of a file of the size that was asked for
    };
    void set_mode(const std::string& path, const struct stat& st, std::uint32_t mode);
    /// A file whose blocks are being hashed for an answer.
    struct Hashing {
        std::string path;
        std::uint64_t size_asked = 0;
        std::uint64_t count = 0;  // of blocks
        UniqueFd fd;
        Basis basis{};
        message::Answer out;
        bool whole = false;  // so far
    };
    void begin_hashing(const std::string& path, const message::Query& query, std::uint64_t count);
    [[nodiscard]] bool hash_block(Hashing& file);
    void end_hashing(const Reply& reply);

    const ConfinedDir& root_;
    BasisOptions options_;
    Checked checked_;
    ModeUnset mode_unset_ = [](const std::string&, int) {};
    PieceHasher hasher_;
    DiskTimes times_;
    std::optional<Hashing> hashing_;
    std::unordered_map<std::uint64_t, Basis> files_;  // by path key
    std::size_t blocks_ = 0;                          // in files_
    std::string directory_;                           // where the latest look was ...
    UniqueFd directory_fd_;                           // ... if it could be opened ...
    int directory_error_ = 0;                         // ... and if not, why
};

}  // namespace udtx::transfer

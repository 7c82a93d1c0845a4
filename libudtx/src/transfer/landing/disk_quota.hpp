// At most so many bytes on disk below one directory, whatever brings them: one account for all transfers into it.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"

struct stat;

namespace udtx::transfer {

/// Any thread of the disk pool; none of the calls is for the protocol thread.
class DiskQuota {
    struct Walk;
    using FileId = std::pair<dev_t, ino_t>;
    struct UnderWay {
        std::uint64_t bytes = 0;
        bool over = false;  ///< while a walk was under way, which must not find it a second time
    };
    /// A number may come again while the file that had it is still in here: it was deleted by somebody else.
    using Files = std::multimap<FileId, UnderWay>;

  public:
    explicit DiskQuota(std::uint64_t limit) : limit_(limit) {}

    /// At the beginning of a transfer into `top`: adds up what is below it, as `du` does, and stops where that is more
    /// than the limit. False: another transfer is doing it; to be asked again in a little while. `asked` is the
    /// caller's, empty at first. file_io: a directory of ours is not to be read, and may hold anything.
    Result<bool> measure(const ConfinedDir& top, std::optional<std::uint64_t>& asked);

    [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }

    /// What a file under construction takes of the account. Destroyed, it leaves that on the disk.
    class Charge {
      public:
        Charge(std::shared_ptr<DiskQuota> quota, const struct stat& file);
        ~Charge();
        Charge(const Charge&) = delete;
        Charge& operator=(const Charge&) = delete;
        /// False: there is no room for so many bytes of it, not even after another look at the disk.
        [[nodiscard]] bool grow(std::uint64_t bytes);
        /// It holds neither more nor less.
        void settle(std::uint64_t bytes);

      private:
        const std::shared_ptr<DiskQuota> quota_;
        Files::iterator entry_;
    };

  private:
    /// By whoever has set walking_; sets it back.
    Result<void> walk();
    Result<void> look_into(Walk& walk, const std::string& directory);
    void count(Walk& walk, const struct stat& st);
    void end_walk(const Walk& walk);
    [[nodiscard]] bool take(std::uint64_t bytes);

    const std::uint64_t limit_;
    std::mutex mutex_;                // guards what follows
    std::optional<ConfinedDir> top_;  // changes and is used only by who walks
    std::uint64_t on_disk_ = 0;       // but for files under way ...
    std::uint64_t under_way_ = 0;     // ... and those
    Files files_;
    bool whole_ = false;  ///< on_disk_ is all that there is; else nothing is to be added
    bool walking_ = false;
    std::condition_variable walked_;
    std::uint64_t walks_ = 0;
};

/// What bounds the disk that senders may fill.
struct RoomLimits {
    std::uint64_t min_free = 0;          ///< bytes of the disk that are to stay free
    std::shared_ptr<DiskQuota> quota{};  ///< null: none
    [[nodiscard]] bool any() const noexcept { return min_free > 0 || quota != nullptr; }
};

}  // namespace udtx::transfer

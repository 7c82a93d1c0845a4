// At most so many bytes on disk below one directory, whatever brings them: one account for all transfers of one key.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"

struct stat;

namespace udtx::transfer {

/// Any thread of the disk pool, for which nothing here waits; none of the calls is for the protocol thread.
class DiskQuota {
    using FileId = std::pair<dev_t, ino_t>;
    struct UnderWay {
        std::uint64_t bytes = 0;
        std::size_t shards = 0;  ///< that fill it and have not ended; 0: it is filled by one transfer alone
        bool over = false;       ///< while a walk was under way, which must not find it a second time
    };
    /// A number may come again while the file that had it is still in here: it was deleted by somebody else.
    using Files = std::multimap<FileId, UnderWay>;

  public:
    explicit DiskQuota(std::uint64_t limit) : limit_(limit) {}

    /// Adds up what is below `top`, as `du` does, and stops where that is more than the limit. One at a time does it
    /// for all who ask meanwhile.
    class Look {
      public:
        /// At the beginning of a transfer.
        explicit Look(std::shared_ptr<DiskQuota> quota);
        /// Because so many more bytes have no room: something may have been deleted or replaced since the last look.
        Look(std::shared_ptr<DiskQuota> quota, std::uint64_t wanted);
        /// It may be given up midway.
        ~Look();
        Look(const Look&) = delete;
        Look& operator=(const Look&) = delete;

        /// Until the slice is over. True: what was on the disk at the beginning of this object is known now. False: to
        /// be called again in a little while. file_io: something cannot be read, and the account stays as it was.
        Result<bool> go_on(const ConfinedDir& top, const DiskSlice& slice = {});

      private:
        struct Walk {
            ConfinedDir top;
            std::uint64_t number = 0;
            std::vector<std::string> directories{};  // still to be looked into
            std::string directory{};                 // the one that is open ...
            UniqueFd fd{};
            std::vector<std::string> names{};  // ... and what is left in it
            std::set<FileId> linked{};         // files with several names, each counted once
            std::uint64_t found = 0;
        };
        [[nodiscard]] Result<bool> begin(const ConfinedDir& top);
        [[nodiscard]] Result<bool> walk(const DiskSlice& slice);
        /// Opens the next directory. file_io: it cannot be read.
        [[nodiscard]] Result<void> enter();
        /// The same of one that bars its owner, and all of what is in it.
        [[nodiscard]] Result<void> look_into_barred();
        /// A few of the names that are left.
        void count_some();
        void count(const std::string& name, const struct stat& st);
        void end(bool whole);

        const std::shared_ptr<DiskQuota> quota_;
        const std::uint64_t wanted_;
        std::uint64_t asked_;
        std::optional<Walk> walk_;  // none: another one is at it
    };

    /// A look at the disk would say nothing new: there is room for so many more bytes, or there was none a moment ago.
    [[nodiscard]] bool is_known(std::uint64_t bytes);

    /// What a file under construction takes of the account. Destroyed, it leaves that on the disk.
    class Charge {
      public:
        /// `counted`: what is in it was on the disk before this transfer. `shared`: several shards fill it, and the
        /// account has it once.
        Charge(std::shared_ptr<DiskQuota> quota, const struct stat& file, bool counted, bool shared = false);
        ~Charge();
        Charge(const Charge&) = delete;
        Charge& operator=(const Charge&) = delete;
        /// False: there is no room for so many bytes of it, as far as is known.
        [[nodiscard]] bool grow(std::uint64_t bytes);
        /// It holds neither more nor less; nothing is known of that while other shards fill it.
        void settle(std::uint64_t bytes);

      private:
        const std::shared_ptr<DiskQuota> quota_;
        Files::iterator entry_;
    };

  private:
    using Time = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool fits(std::uint64_t bytes) const;
    void end_walk(std::optional<std::uint64_t> found);
    /// After a look.
    void note_room(std::uint64_t bytes);

    const std::uint64_t limit_;
    std::mutex mutex_;             // guards what follows
    std::uint64_t on_disk_ = 0;    // but for files under way ...
    std::uint64_t under_way_ = 0;  // ... and those
    Files files_;
    bool whole_ = false;  ///< on_disk_ is all that there is; else nothing is to be added
    bool walking_ = false;
    std::uint64_t begun_ = 0;     // walks, each of which has a number
    std::uint64_t finished_ = 0;  // the last that came to its end
    std::uint64_t full_for_ = 0;  // so many bytes had no room ...
    Time full_until_{};           // ... which is believed until then
};

/// What bounds the disk that senders may fill.
struct RoomLimits {
    std::uint64_t min_free = 0;          ///< bytes of the disk that are to stay free
    std::shared_ptr<DiskQuota> quota{};  ///< null: none
    [[nodiscard]] bool any() const noexcept { return min_free > 0 || quota != nullptr; }
};

}  // namespace udtx::transfer

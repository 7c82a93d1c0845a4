// Limits the bytes on disk below one directory, whatever writes them. All transfers of one key share one account.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_safety.hpp"
#include "transfer/disk_pool.hpp"
#include "transfer/file/confined_dir.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/options.hpp"

struct stat;

namespace udtx::transfer {

/// Any thread of the disk pool may use it, and none of the calls blocks. The protocol thread must not use it.
class DiskQuota {
    using FileId = std::pair<dev_t, ino_t>;
    struct UnderWay {
        std::uint64_t bytes = 0;
        std::size_t shards = 0;  ///< number of shards that still fill it; 0: one transfer alone fills it
        bool over = false;       ///< ended during a walk, which must not count it a second time
    };
    /// A number may occur twice: another program deleted the file while it was listed here, and the number is in use
    /// again.
    using Files = std::multimap<FileId, UnderWay>;

  public:
    explicit DiskQuota(std::uint64_t limit) : limit_(limit) {}

    /// Adds up the disk space used below `top`, as `du` does, and stops as soon as it exceeds the limit. One Look walks
    /// at a time. Others that asked before it began use its result.
    class Look {
      public:
        /// For the beginning of a transfer, or for `wanted` bytes that do not fit: something may have been deleted or
        /// replaced since the last look.
        explicit Look(std::shared_ptr<DiskQuota> quota, std::uint64_t wanted = 0);
        /// A Look may be destroyed before its walk ends.
        ~Look();
        Look(const Look&) = delete;
        Look& operator=(const Look&) = delete;

        /// Continues until the slice is over. True: the account includes everything that was on disk when this object
        /// was made. False: call it again in a little while. file_io: something cannot be read, and the account is
        /// unchanged.
        Result<bool> go_on(const ConfinedDir& top, const DiskSlice& slice = {});

      private:
        struct Walk {
            ConfinedDir top;
            std::uint64_t number = 0;
            std::vector<std::string> directories{};  // paths still to be read
            std::string directory{};                 // path of the one that is open
            UniqueFd fd{};
            std::vector<std::string> names{};  // its names that are still to be counted
            std::set<FileId> linked{};         // files with several names, each counted once
            std::uint64_t found = 0;
        };
        [[nodiscard]] Result<bool> begin(const ConfinedDir& top);
        [[nodiscard]] Result<bool> walk(const DiskSlice& slice);
        /// Opens the next directory and reads its names. file_io: it cannot be read.
        [[nodiscard]] Result<void> enter();
        /// As enter(), for a directory that denies its owner access. Counts all of its entries at once.
        [[nodiscard]] Result<void> look_into_barred();
        /// Counts a few of the remaining names.
        void count_some();
        void count(const std::string& name, const struct stat& st);
        void end(bool whole);

        const std::shared_ptr<DiskQuota> quota_;
        const std::uint64_t wanted_;
        std::uint64_t asked_;
        std::optional<Walk> walk_;  // none: another Look is walking
    };

    /// True if a look at the disk would bring nothing new: so many bytes fit, or they did not fit a moment ago.
    [[nodiscard]] bool is_known(std::uint64_t bytes);

    /// The part of the account that a file under construction takes. When the charge is destroyed, the account counts
    /// the file as disk space in use.
    class Charge {
      public:
        /// `counted`: the account already includes the present blocks of the file. `shared`: several shards fill the
        /// file, and the account includes it once.
        Charge(std::shared_ptr<DiskQuota> quota, const struct stat& file, bool counted, bool shared = false);
        ~Charge();
        Charge(const Charge&) = delete;
        Charge& operator=(const Charge&) = delete;
        /// Raises the charge to `bytes`. False: they do not fit, as far as is known.
        [[nodiscard]] bool grow(std::uint64_t bytes);
        /// Sets the charge to exactly `bytes`. Does nothing while other shards fill the file too.
        void settle(std::uint64_t bytes);

      private:
        const std::shared_ptr<DiskQuota> quota_;
        Files::iterator entry_;
    };

  private:
    using Time = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool fits(std::uint64_t bytes) const REQUIRES(mutex_);
    void end_walk(std::optional<std::uint64_t> found) REQUIRES(mutex_);
    /// Records after a look whether `bytes` fit.
    void note_room(std::uint64_t bytes) REQUIRES(mutex_);

    const std::uint64_t limit_;
    Mutex mutex_;
    std::uint64_t on_disk_ GUARDED_BY(mutex_) = 0;    // bytes on disk, without files under way
    std::uint64_t under_way_ GUARDED_BY(mutex_) = 0;  // bytes of files under way
    Files files_ GUARDED_BY(mutex_);
    bool whole_ GUARDED_BY(mutex_) =
        false;  ///< on_disk_ includes everything that exists; otherwise nothing may be added
    bool walking_ GUARDED_BY(mutex_) = false;
    std::uint64_t begun_ GUARDED_BY(mutex_) = 0;     // number of walks begun, which is also the number of the latest
    std::uint64_t finished_ GUARDED_BY(mutex_) = 0;  // number of the latest walk that reached its end
    std::uint64_t full_for_ GUARDED_BY(mutex_) = 0;  // so many bytes did not fit
    Time full_until_ GUARDED_BY(mutex_){};           // until then that is believed without a look
};

/// True if senders may not fill the whole disk.
[[nodiscard]] inline bool limits_room(const LandingOptions& options) noexcept {
    return options.min_free > 0 || options.quota;
}

}  // namespace udtx::transfer

// Deletes at the receiver: --delete, and directories that make way for a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/file/quirks/folded_names.hpp"
#include "transfer/file/quirks/lent_rights.hpp"
#include "transfer/landing/report.hpp"
#include "transfer/message/messages.hpp"
#include "transfer/names.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

// The names that a sender has, as hashes of eight bytes. If two names have the same hash, --delete may spare a file.

/// They take 128 MiB.
inline constexpr std::size_t kMaxNames = 16U << 20U;

class NameSet {
  public:
    void add(std::string_view path) { add(path_key(path)); }
    void add(std::uint64_t key) {
        if (keys_.size() == kMaxNames) squeeze();
        full_ = full_ || keys_.size() == kMaxNames;
        if (full_) return;
        keys_.push_back(key);
        sorted_ = false;
    }
    [[nodiscard]] std::uint64_t held() const noexcept { return keys_.capacity() * sizeof(std::uint64_t); }
    /// True if the set overflowed: it holds at most kMaxNames names.
    [[nodiscard]] bool full() const noexcept { return full_; }
    [[nodiscard]] bool has(std::string_view path) { return has(path_key(path)); }
    [[nodiscard]] bool has(std::uint64_t key) {
        squeeze();
        return std::binary_search(keys_.begin(), keys_.end(), key);
    }

  private:
    void squeeze() {
        if (sorted_) return;
        std::sort(keys_.begin(), keys_.end());
        keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
        sorted_ = true;
    }

    std::vector<std::uint64_t> keys_;
    bool sorted_ = true;
    bool full_ = false;
};

// --delete at the receiver: deletes what the sender does not have, in the directories that were sent.

/// What became of the contents of a directory that were to be deleted.
enum class Cleared : std::uint8_t { all, some, nothing };

/// Collects what the sender has, and then deletes the rest.
class Eraser {
  public:
    /// `claims` records which entries arrived in this run. `lent` opens up directories that deny their owner access;
    /// null: a dry run. All of them must outlive this object.
    Eraser(const ConfinedDir& root, EntryClaims& claims, Report& report, LentRights* lent)
        : root_(root), claims_(claims), report_(report), lent_(lent) {}

    /// Call it for every name that the sender has. `directory`: the sender names everything in it too.
    void keep(const std::string& path, bool directory);
    /// Call it for a name that the sender has but does not send.
    void keep_unsent(const std::string& path);
    /// protocol: there are more rules than one sender may have.
    Result<void> add(const message::Rules& rules);
    /// For a directory whose name the sender has for another kind of entry: says whether the directory may be deleted
    /// with everything in it. Deletes nothing. The error names the first entry that must stay.
    [[nodiscard]] Result<void> may_clear(const std::string& path);
    /// Deletes the directory that may_clear() allowed. It may be called `leaf` in `parent` by now.
    [[nodiscard]] Cleared clear(int parent, const std::string& leaf, const std::string& path);
    /// Starts the deletion. Excluded names, everything below them, and files of transfers under way stay. refused: the
    /// sender has nothing, or more names than can be stored. Then nothing is deleted.
    Result<void> begin();
    /// Call it after begin(): does a little of the work. False: no work is left.
    bool go_on();

    /// Bytes of memory held for names.
    [[nodiscard]] std::uint64_t held() const noexcept { return names_.held() + directories_.held(); }

  private:
    /// The names that a directory was sent under. There are several if the file system treats them as one.
    using Spellings = std::vector<std::string>;
    /// A directory whose entries are compared with what the sender has.
    struct Looking {
        Spellings spellings;
        UniqueFd fd;
        std::vector<ListedEntry> listed;
        std::optional<OtherwiseRead> otherwise;  // only if the file system may list names with another spelling
        std::size_t next = 0;                    // index in `listed`
    };
    /// A directory whose entries are deleted, and then the directory itself.
    struct Emptying {
        std::string name;  // empty: the directory itself stays
        std::string path;
        UniqueFd fd;
        std::vector<std::string> names;
        std::size_t next = 0;
        bool all_gone = true;  // of the names before `next`
    };
    void look_through(Spellings spellings);
    void look_at_next(Looking& directory);
    /// For an entry that stays: queues it for comparison if it is a directory at both ends.
    void go_into(const Spellings& sent);
    /// False: the entry stays. True: it is deleted, or it is a directory that is now being emptied for that.
    bool remove(int parent, const std::string& name, const std::string& path);
    /// Opens a directory and lists it. Returns 0 or an errno.
    int list(int parent, const std::string& leaf, const std::string& path, UniqueFd& fd,
             std::vector<std::string>& names);
    /// Why names in a directory may not be changed, even if it is opened up: 0 or an errno.
    [[nodiscard]] int lacks_rights(int directory, const std::string& path);
    /// As may_clear(), for one entry at this depth below the directory.
    [[nodiscard]] Result<void> may_go(int parent, const std::string& name, const std::string& path, std::size_t depth);
    /// False: the directory cannot be read. `name`: see Emptying.
    bool begin_emptying(int parent, const std::string& leaf, std::string name, const std::string& path);
    /// Deletes the next entry of the deepest directory that is being emptied, or that directory itself.
    void empty_more();
    [[nodiscard]] bool dry_run() const noexcept { return lent_ == nullptr; }
    /// Opens a directory up. False: it could not.
    [[nodiscard]] bool lend(const std::string& directory) const { return lent_ != nullptr && lent_->lend(directory); }
    /// Reports as a failure that the entry stays. Returns false.
    bool stays(const std::string& path, const Error& why) {
        report_.failed(kNoEntry, path, why);
        return false;
    }
    bool left(const std::string& path, int error_number);
    /// Deletes a file, a link or an empty directory. True: it is gone.
    bool take_away(int parent, const std::string& name, const std::string& path, bool directory);
    [[nodiscard]] bool is_protected(const std::string& name, const std::string& path, bool directory) const;
    /// True if the entry arrived in this run, whatever its name is now.
    [[nodiscard]] bool has_come(int parent, const std::string& name) const;

    const ConfinedDir& root_;
    EntryClaims& claims_;
    Report& report_;
    LentRights* lent_;
    NameSet names_;
    NameSet directories_;  // names in names_ that are directories at the sender
    FoldedNames folded_;   // names in names_ that the file system may list with another spelling
    FilterRules rules_;
    FilterRules small_rules_;        // the same rules in lower case
    bool folds_ = false;             // the current directory may list names with another spelling
    bool contents_ = false;          // the destination itself takes the contents of a directory
    bool nothing_sent_ = true;       // except the directories that were asked for
    std::vector<std::string> tops_;  // directories that were sent, at the top of the destination
    std::vector<Spellings> waiting_;
    std::optional<Looking> looking_;
    std::size_t erased_ = 0;
    std::vector<Emptying> emptying_;  // each is in the one before it
    bool emptied_ = false;            // the directory that was finished last is gone or empty
};

// Puts an incoming entry in the place of a directory, by rsync's rules: a file, a link or an empty directory is always
// replaced, a directory with entries only with --delete. The directory loses nothing before the entry has its name.

/// Says whether an incoming file or link may take the name `path`. `eraser`: deletes the entries of a directory there
/// (null: nothing may be deleted). Changes nothing. refused: the directory must stay.
[[nodiscard]] Result<void> check_way(const ConfinedDir& root, const std::string& path, Eraser* eraser);

/// Deletes a directory that is called `leaf` in `parent`. `some`: it reports itself what could not be deleted.
using DeleteReplaced = std::function<Cleared(int parent, const std::string& leaf)>;

/// Gives `from` the name of the directory `to`, and then deletes the directory. Returns 0 or an errno. After an error,
/// the directory has its name again and all its entries.
[[nodiscard]] int replace_directory(int parent, const std::string& from, const std::string& to,
                                    const DeleteReplaced& remove);

}  // namespace udtx::transfer

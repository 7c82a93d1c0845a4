// --delete at the receiver: deletes what the sender does not have, in the directories that were sent.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/entry_claims.hpp"
#include "transfer/landing/folded_names.hpp"
#include "transfer/landing/name_set.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/transfer/filter.hpp"

namespace udtx::transfer {

struct EraseCallbacks {
    /// An entry was deleted, or would be in a dry run.
    std::function<void(const std::string& path)> erased;  ///< the path of a directory ends in `/`
    std::function<void(const std::string& path, const Error& error)> failed;
    /// False: there is no time to continue.
    std::function<bool()> go_on = [] { return true; };
    /// Opens up a directory that denies its owner access. False: it could not.
    std::function<bool(const std::string& directory)> lend = [](const std::string&) { return false; };
};

/// What became of the contents of a directory that were to be deleted.
enum class Cleared : std::uint8_t { all, some, nothing };

/// Collects what the sender has, and then deletes the rest.
class Eraser {
  public:
    /// `root` must outlive this object.
    Eraser(const ConfinedDir& root, bool dry_run, EraseCallbacks callbacks);
    /// `claims` records which entries arrived in this run. It must outlive this object.
    Eraser(const ConfinedDir& root, bool dry_run, EntryClaims& claims, EraseCallbacks callbacks);

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
    void note(const std::string& path);
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
    /// Reports as a failure that the entry stays. Returns false.
    bool left(const std::string& path, int error_number);
    /// Deletes a file, a link or an empty directory. True: it is gone.
    bool take_away(int parent, const std::string& name, const std::string& path, bool directory);
    [[nodiscard]] bool is_protected(const std::string& name, const std::string& path, bool directory) const;
    /// True if the entry arrived in this run, whatever its name is now.
    [[nodiscard]] bool has_come(int parent, const std::string& name) const;

    const ConfinedDir& root_;
    bool dry_run_;
    std::optional<EntryClaims> own_claims_;
    EntryClaims& claims_;
    EraseCallbacks callbacks_;
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

}  // namespace udtx::transfer

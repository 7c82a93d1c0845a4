// --delete at the receiver: takes away what the sender does not have, in the directories that were sent.
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
    /// Gone; or, in a dry run, it would be.
    std::function<void(const std::string& path)> erased;  ///< of a directory with `/` behind it
    std::function<void(const std::string& path, const Error& error)> failed;
    /// False: there is no time for more.
    std::function<bool()> go_on = [] { return true; };
    /// A directory that bars its owner is opened up; false: it is not.
    std::function<bool(const std::string& directory)> lend = [](const std::string&) { return false; };
};

/// What the sender has said, and what comes of it.
class Eraser {
  public:
    /// `root` outlives it.
    Eraser(const ConfinedDir& root, bool dry_run, EraseCallbacks callbacks);
    /// `claims` says of what is there that it came in this run; outlives it.
    Eraser(const ConfinedDir& root, bool dry_run, EntryClaims& claims, EraseCallbacks callbacks);

    /// Every name that the sender has; of a directory, that all in it is named too.
    void keep(const std::string& path, bool directory);
    /// A name that the sender has and does not send.
    void keep_unsent(const std::string& path);
    /// protocol: more rules than one sender may have.
    Result<void> add(const message::Rules& rules);
    /// Takes away what is in a directory that the sender has something else for. False: some of it stays.
    [[nodiscard]] bool clear(const std::string& path);
    /// The work may begin. Excluded names, what is below them, and files of transfers under way stay.
    /// refused: the sender has nothing, or more than can be remembered; nothing is taken away then.
    Result<void> begin();
    /// After begin(): does a little of the work. False: there is none left.
    bool go_on();

    /// Memory of names.
    [[nodiscard]] std::uint64_t held() const noexcept { return names_.held() + directories_.held(); }

  private:
    /// The names that a directory was sent under: several, where they are one for the file system.
    using Spellings = std::vector<std::string>;
    /// A directory that is being looked through.
    struct Looking {
        Spellings spellings;
        UniqueFd fd;
        std::vector<ListedEntry> listed;
        std::optional<OtherwiseRead> otherwise;  // where names may read otherwise
        std::size_t next = 0;                    // of listed
    };
    /// A directory of which the content goes, and then itself.
    struct Emptying {
        std::string name;  // empty: it stays
        std::string path;
        UniqueFd fd;
        std::vector<std::string> names;
        std::size_t next = 0;
        bool all_gone = true;  // of what came before next
    };
    void note(const std::string& path);
    void look_through(Spellings spellings);
    void look_at_next(Looking& directory);
    /// Of an entry that stays: what is in it is looked through if it is a directory at both ends.
    void go_into(const Spellings& sent);
    /// False: it stays. True: it is gone, or, a directory, is being emptied for that.
    bool remove(int parent, const std::string& name, const std::string& path);
    /// False: it cannot be looked into. `name` as in Emptying.
    bool begin_emptying(int parent, const std::string& leaf, std::string name, const std::string& path);
    /// The next entry of the deepest directory that is being emptied, or it itself.
    void empty_more();
    /// It stays, which is a failure: false.
    bool left(const std::string& path, int error_number);
    /// True: it is gone.
    bool take_away(int parent, const std::string& name, const std::string& path, bool directory);
    [[nodiscard]] bool is_protected(const std::string& name, const std::string& path, bool directory) const;
    /// What came in this run, whatever its name reads now.
    [[nodiscard]] bool has_come(int parent, const std::string& name) const;

    const ConfinedDir& root_;
    bool dry_run_;
    std::optional<EntryClaims> own_claims_;
    EntryClaims& claims_;
    EraseCallbacks callbacks_;
    NameSet names_;
    NameSet directories_;  // of them, those that are directories at the sender
    FoldedNames folded_;   // of them, those that may read otherwise
    FilterRules rules_;
    FilterRules small_rules_;        // the same in lower case
    bool folds_ = false;             // where the work is now
    bool contents_ = false;          // of the destination itself
    bool nothing_sent_ = true;       // but the directories that were asked for
    std::vector<std::string> tops_;  // directories sent, at the top of the destination
    std::vector<Spellings> waiting_;
    std::optional<Looking> looking_;
    std::vector<Emptying> emptying_;  // each in the one before it
    bool emptied_ = false;            // the one that was gone through last
};

}  // namespace udtx::transfer

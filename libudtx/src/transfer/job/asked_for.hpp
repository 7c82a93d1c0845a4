// What a pull asked for, and whether what comes is that: the sender chooses the names that are written here, and nobody
// says that it keeps to the request.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/job/pull_request.hpp"
#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// All calls: protocol, with the name, if it was not asked for.
class AskedFor {
  public:
    /// How the sender reads the sources: as the names that they are, or as a shell does.
    enum class Sources { names, patterns };
    AskedFor(PullWish wish, Sources how);

    /// The shape fits the sources.
    [[nodiscard]] Result<void> check(const message::Sources& m);
    [[nodiscard]] Result<void> check(const message::Offer& m) const;
    /// A name, and the kind of what has it. As the sender calls it: before any renaming here.
    [[nodiscard]] Result<void> check(EntryType type, const std::vector<std::string>& path, const std::string& target);
    /// A file that is asked about.
    [[nodiscard]] Result<void> check(const message::Query& m);
    [[nodiscard]] Result<void> check(const message::Meta& m) const;
    /// The destination may get what belongs to a source.
    [[nodiscard]] bool for_contents() const noexcept { return contents_ && !named_; }
    [[nodiscard]] Result<void> check(const message::Rules& m) const;
    /// What a deletion leaves alone, whatever the sender says of it.
    [[nodiscard]] std::vector<message::Rules> rules() const;

  private:
    /// What of a listed directory was asked for beside itself.
    enum class Into { not_listed, nothing, entries, all };
    struct Listed {
        Into into = Into::not_listed;
        bool way = false;  ///< to another one
    };
    enum class Kind { directory, other, unknown };

    [[nodiscard]] bool is_source(const std::string& name) const;
    /// The name of a home directory is not known here: it is that of the first directory that no other source has, and
    /// no hidden one.
    [[nodiscard]] bool is_home(const std::vector<std::string>& path, Kind kind);
    [[nodiscard]] bool is_listed(const std::vector<std::string>& path, Kind kind) const;
    /// `itself`: and not for what is below it.
    [[nodiscard]] bool is_excluded(const std::vector<std::string>& path, Kind kind, bool itself = true);
    /// Why not; nullptr: it was.
    [[nodiscard]] const char* objection(const std::vector<std::string>& path, Kind kind);
    [[nodiscard]] Result<void> check_belongings(bool owner, bool attributes) const;
    void list_names();

    PullWish wish_;
    bool patterns_;
    std::vector<std::string> tops_;  ///< last names of the sources
    bool contents_ = false;          ///< one of the sources brings what is in it, under any name
    bool home_asked_ = false;        ///< one of the sources is a home directory
    std::string home_;               ///< its name, as soon as it has come
    bool named_ = false;             ///< only what listed_ has, and be it empty
    SourceShape shape_ = SourceShape::several;
    std::map<std::string, Listed, std::less<>> listed_;
    std::string top_;       ///< of the one source
    std::string included_;  ///< the latest directory that no rule excludes, nor one above it
};

}  // namespace udtx::transfer

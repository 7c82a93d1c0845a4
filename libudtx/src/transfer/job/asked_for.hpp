// What a pull asked for, and whether what comes is that: the sender chooses the names that are written here, and nobody
// says that it keeps to the request.
#pragma once

#include <cstdint>
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
    /// Of a file of so many bytes this comes; nullopt: all of it.
    [[nodiscard]] Result<void> check_bytes(const std::vector<std::string>& path, std::uint64_t size,
                                           const std::optional<FileRange>& part) const;
    /// A file that is asked about.
    [[nodiscard]] Result<void> check(const message::Query& m);
    [[nodiscard]] Result<void> check(const message::Meta& m) const;
    /// The destination may get what belongs to a source.
    [[nodiscard]] bool for_contents() const noexcept { return contents_ && !named_; }
    [[nodiscard]] Result<void> check(const message::Rules& m) const;
    /// A source or listed name of which nothing came: no entry, no plan, no standing answer, and no word that it is not
    /// there. Own patterns excuse it.
    struct Absent {
        std::string name;
        bool may_be_link = false;  ///< and links are left out
    };
    enum class Questions : std::uint8_t { open, over };
    /// Each of them once. As long as questions are open, what was asked about may stand here.
    [[nodiscard]] std::vector<Absent> take_absent(Questions questions);
    /// What there is of it here.
    void note(const message::Answer& m);
    /// What a deletion leaves alone, whatever the sender says of it.
    [[nodiscard]] std::vector<message::Rules> rules() const;

  private:
    /// What of a listed directory was asked for beside itself.
    enum class Into { not_listed, nothing, entries, all };
    struct Awaited {
        bool came = false;
        bool asked = false;  ///< about what is here of it
    };
    struct Listed {
        Into into = Into::not_listed;
        bool way = false;  ///< to another one
        Awaited awaited{};
    };
    struct Top {
        std::string name;    ///< last one of the source; empty: a home directory, which has one that is not known here
        std::string source;  ///< as it was asked for
        Awaited awaited{};
    };
    enum class Kind { directory, other, unknown };

    [[nodiscard]] bool is_source(const std::string& name) const;
    [[nodiscard]] bool names(const Top& top, const std::string& name) const;
    void note_missing(const std::string& path);
    void each_awaited(const std::vector<std::string>& path, const std::function<void(Awaited&)>& use);
    void note_came(const std::vector<std::string>& path);
    /// It stands for names that are not known here.
    [[nodiscard]] bool is_pattern(const std::string& name) const;
    [[nodiscard]] bool may_be_excluded(const std::string& name) const;
    /// The name of a home directory is not known here: it is that of the first directory that no other source has, and
    /// no hidden one.
    [[nodiscard]] bool is_home(const std::vector<std::string>& path, Kind kind);
    [[nodiscard]] bool is_listed(const std::vector<std::string>& path, Kind kind) const;
    /// `itself`: and not for what is below it.
    [[nodiscard]] bool is_excluded(const std::vector<std::string>& path, Kind kind, bool itself = true);
    /// Of a directory, and of what may be one: it may be the way to what is in the part.
    [[nodiscard]] bool in_part(const std::vector<std::string>& path, Kind kind) const;
    /// Why not; nullptr: it was.
    [[nodiscard]] const char* objection(const std::vector<std::string>& path, Kind kind);
    [[nodiscard]] Result<void> check_belongings(bool owner, bool attributes) const;
    void list_names();

    PullWish wish_;
    bool patterns_;
    std::vector<Top> tops_;
    bool contents_ = false;  ///< one of the sources brings what is in it, under any name
    std::string home_;       ///< the name of a home directory, as soon as it has come
    bool named_ = false;     ///< only what listed_ has, and be it empty
    SourceShape shape_ = SourceShape::several;
    std::map<std::string, Listed, std::less<>> listed_;
    std::map<std::uint64_t, std::string> questions_;  ///< about what is awaited
    std::string top_;                                 ///< of the one source
    std::string included_;                            ///< the latest directory that no rule excludes, nor one above it
};

}  // namespace udtx::transfer

// The request of a receiver that connects, as the messages PULL, RULES and NAMES. Layout and order:
// docs/inside/transfer-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxPullSources = 256;
inline constexpr std::size_t kMaxPullSourceBytes = 32U << 10U;
/// Bound on all names that one request lists.
inline constexpr std::size_t kMaxPullNameBytes = 32U << 20U;

/// A transfer as the receiver requests it.
struct PullWish {
    Selection what{};
    std::uint64_t transfer = 0;  ///< number of the transfer; 0: no continuation
    bool stream = false;         ///< the only source goes to a pipe
};

/// What the sender is told of a shard. How far the shard is, only the receiver needs to know.
[[nodiscard]] std::optional<JobShard> in_request(std::optional<JobShard> shard);

/// invalid_argument: more sources or names than one request can hold.
[[nodiscard]] Result<std::vector<Message>> messages_of(PullWish wish);

/// Reads a request, message by message.
class PullRequest {
  public:
    [[nodiscard]] bool begun() const noexcept { return begun_; }
    /// Memory of the list of names: once as received and once sorted.
    [[nodiscard]] std::uint64_t held() const noexcept { return 2 * name_bytes_; }
    /// protocol: the message is not part of a request, is out of order, or exceeds a limit.
    Result<void> add(Message message);
    /// Adds all messages of a block.
    Result<void> add_all(std::span<const std::byte> bytes);
    [[nodiscard]] const PullWish& wish() const noexcept { return wish_; }
    /// Moves the wish out; held() keeps its value.
    [[nodiscard]] PullWish take_wish() { return std::move(wish_); }

  private:
    Result<void> add(message::Pull m);
    Result<void> add(const message::Rules& m);
    Result<void> add(message::Names m);

    PullWish wish_;
    bool begun_ = false;
    std::size_t name_bytes_ = 0;
};

// What a pull asked for, and a check that the sender keeps to it. The sender chooses the names that are written here,
// so it cannot be trusted to keep to the request.

/// Every check returns protocol, with the name, if something was not asked for.
class AskedFor {
  public:
    /// How the sender reads the sources: as literal names, or as patterns of a shell.
    enum class Sources { names, patterns };
    AskedFor(PullWish wish, Sources how);

    /// Checks that the answered shape fits the sources.
    [[nodiscard]] Result<void> check(const message::Sources& m);
    [[nodiscard]] Result<void> check(const message::Offer& m) const;
    /// Checks a name and the type of its entry. The name is the sender's, before any renaming here.
    [[nodiscard]] Result<void> check(EntryType type, const std::vector<std::string>& path, const std::string& target);
    /// Checks that `part` of a file of `size` bytes was requested; nullopt: the whole file.
    [[nodiscard]] Result<void> check_bytes(const std::vector<std::string>& path, std::uint64_t size,
                                           const std::optional<FileRange>& part) const;
    /// Checks a file that the sender asks about.
    [[nodiscard]] Result<void> check(const message::Query& m);
    [[nodiscard]] Result<void> check(const message::Meta& m) const;
    /// The requested shard, with what only this end knows.
    [[nodiscard]] const std::optional<JobShard>& shard() const noexcept { return wish_.what.shard; }
    /// True if the destination itself may get the attributes of a source.
    [[nodiscard]] bool for_contents() const noexcept { return contents_ && !named_; }
    [[nodiscard]] Result<void> check(const message::Rules& m) const;
    /// A source or listed name of which nothing arrived: no entry, no plan and no answer that it exists here. The
    /// sender has not reported it as missing either. The request's own patterns excuse a name.
    struct Absent {
        std::string name;
        bool may_be_link = false;  ///< and links are left out
    };
    enum class Questions : std::uint8_t { open, over };
    /// Takes the absent names, each once. While questions are open, a name that was asked about may exist here and is
    /// not absent.
    [[nodiscard]] std::vector<Absent> take_absent(Questions questions);
    /// Records what exists here of a name.
    void note(const message::Answer& m);
    /// The rules that protect files from deletion, whatever rules the sender sends.
    [[nodiscard]] std::vector<message::Rules> rules() const;

  private:
    /// What was requested of a listed directory besides the directory itself.
    enum class Into { not_listed, nothing, entries, all };
    struct Awaited {
        bool came = false;
        bool asked = false;  ///< about what exists here
    };
    struct Listed {
        Into into = Into::not_listed;
        bool way = false;  ///< it leads to another listed name
        Awaited awaited{};
    };
    struct Top {
        std::string name;    ///< last component of the source; empty: a home directory, whose name is unknown here
        std::string source;  ///< as it was requested
        Awaited awaited{};
    };
    enum class Kind { directory, other, unknown };

    [[nodiscard]] bool names(const Top& top, const std::string& name) const;
    void note_missing(const std::string& path);
    void each_awaited(const std::vector<std::string>& path, const std::function<void(Awaited&)>& use);
    void note_came(const std::vector<std::string>& path);
    /// True if the name is a pattern for names that are unknown here.
    [[nodiscard]] bool is_pattern(const std::string& name) const;
    [[nodiscard]] bool may_be_excluded(const std::string& name) const;
    /// True if the path is, or is below, a requested home directory. Its name is unknown here: it is the first
    /// directory that matches no other source and is not hidden.
    [[nodiscard]] bool is_home(const std::vector<std::string>& path, Kind kind);
    [[nodiscard]] bool is_listed(const std::vector<std::string>& path, Kind kind) const;
    /// `itself`: the question is about this path, and not about an entry below it.
    [[nodiscard]] bool is_excluded(const std::vector<std::string>& path, Kind kind, bool itself = true);
    /// True if the path is in the requested part of the tree. A path that is or may be a directory also counts if it
    /// leads into the part.
    [[nodiscard]] bool in_part(const std::vector<std::string>& path, Kind kind) const;
    /// Why the path was not requested; nullptr: it was.
    [[nodiscard]] const char* objection(const std::vector<std::string>& path, Kind kind);
    [[nodiscard]] Result<void> check_belongings(bool owner, bool attributes) const;
    void list_names();

    PullWish wish_;
    bool patterns_;
    std::vector<Top> tops_;
    bool contents_ = false;  ///< a source brings its contents, under any names
    std::string home_;       ///< name of the home directory, once it has arrived
    bool named_ = false;     ///< only listed_ counts, even if it is empty
    SourceShape shape_ = SourceShape::several;
    std::map<std::string, Listed, std::less<>> listed_;
    std::map<std::uint64_t, std::string> questions_;  ///< number -> path, of queries about awaited names
    std::string top_;                                 ///< name of the only source
    std::string included_;                            ///< the latest directory that no rule excludes, nor any above it
};

/// A pull: the request to the sender, and where the data goes. The protocol thread calls `place` once the sender has
/// answered with its sources.
struct PullOrder {
    /// Empty: the sender was started for this transfer, and got the request by other means. Nobody there waits for the
    /// result, so the job ends once it has confirmed, and does not wait for the sender's close.
    std::vector<Message> request;
    AskedFor asked;  ///< anything that was not requested ends the transfer
    std::function<Result<LandingPlace>(const message::Sources&)> place;
};

}  // namespace udtx::transfer

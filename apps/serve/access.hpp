// --authorized-keys: the clients' keys and their rights. One key per line, options before it as in OpenSSH's
// authorized_keys:
//
//     dir="alice",write,rate="200M",quota="100G" udtx-ed25519 BASE64 alice@lab
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/guarded.hpp"
#include "options/commands.hpp"
#include "sandbox/sandbox.hpp"
#include "udtx/credentials.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {

struct KeyRights {
    std::string directory;  ///< below the directory of --dir, without links in the path; empty: all of it
    bool read = true;
    bool write = true;
    Rate rate = Rate::infinite();  ///< for each of its connections
    std::uint64_t quota = 0;       ///< bytes on disk below its directory; 0: no limit
    std::string name;              ///< the comment
};

class AuthorizedKeys {
  public:
    /// file_io: the file cannot be read. malformed: names the wrong line and the reason.
    static Result<AuthorizedKeys> load(const std::filesystem::path& path);
    /// Parses the same from text. `name` is the file's name in messages.
    static Result<AuthorizedKeys> parse(std::string_view text, const std::string& name);

    /// Null: the key is not authorized.
    [[nodiscard]] const KeyRights* find(const PublicKey& key) const;
    [[nodiscard]] const std::map<PublicKey, KeyRights>& all() const noexcept { return keys_; }

  private:
    std::map<PublicKey, KeyRights> keys_;
};

// Prepares a receiver: its directories and keys.

/// The directory that a key with these rights writes to.
[[nodiscard]] std::string directory_of(const RecvCommand& command, const KeyRights& rights);
/// Loads the credentials. Fills `keys` if clients have their own keys.
[[nodiscard]] Result<Credentials> receiver_credentials(const RecvCommand& command, AuthorizedKeys& keys);
/// The places that a receiver writes to: the directories of keys with the right to write, and files of its own flags.
[[nodiscard]] SandboxPlaces places_of(const RecvCommand& command, const AuthorizedKeys& keys);

/// Remembers directories as they were when the sandbox was set up. A file system mounted over one later is not covered
/// by the sandbox's rules.
class KnownPlaces {
  public:
    void note(const std::vector<std::string>& directories);
    /// refused: the name now leads to another directory, or lies outside of all of them.
    [[nodiscard]] Result<void> check(const std::string& directory) const;

  private:
    bool noted_ = false;
    std::map<std::string, std::pair<dev_t, ino_t>> known_;
};

// Access control of a server's directory: applies the rights of a client's key, or the flags if clients have no keys.

/// Any thread may use it after all places are noted.
class Access {
  public:
    /// The command must outlive it.
    Access(const RecvCommand& command, const AuthorizedKeys& keys);

    /// Replaces the keys for transfers that start from now on. A key with the same quota in the same directory keeps
    /// its account.
    void set_keys(const AuthorizedKeys& keys);
    /// True if `place` may be written; an error says why the sandbox forbids it.
    [[nodiscard]] Result<void> check_place(const std::string& place) const { return places_.check(place); }

    /// Notes the directories that the sandbox permits for writing.
    void note_places(const std::vector<std::string>& directories) { places_.note(directories); }
    /// For a receiver of one transfer.
    void set_receipt(std::optional<transfer::ReceiptFile> receipt) { receipt_ = std::move(receipt); }

    /// Name of the client for messages, to follow its address: " (bob)"; empty if all clients use the pre-shared key.
    [[nodiscard]] std::string name_of(const transfer::Client& client) const;
    /// The client's directory, for listings; empty: none.
    [[nodiscard]] std::string place_of(const transfer::Client& client) const;
    /// The rate of the client's key.
    [[nodiscard]] Rate rate_of(const transfer::Client& client) const;
    /// The place and the options for files from the client. refused: the client may not send.
    [[nodiscard]] Result<transfer::LandingOptions> push(const transfer::Client& client) const;
    /// The place from which the client may fetch. refused: the client may not fetch.
    [[nodiscard]] Result<transfer::OfferOptions> pull(const transfer::Client& client) const;

  private:
    struct Grant {
        KeyRights rights;
        std::optional<transfer::Quota> quota{};  // all transfers of a key share one
    };
    using Grants = std::map<PublicKey, Grant>;
    /// Null: clients have no keys of their own, or the key was removed.
    [[nodiscard]] std::shared_ptr<const Grant> grant_of(const transfer::Client& client) const;

    const RecvCommand& command_;
    std::optional<transfer::ReceiptFile> receipt_;
    KnownPlaces places_;
    Guarded<std::shared_ptr<const Grants>> grants_;
};

}  // namespace udtx::apps

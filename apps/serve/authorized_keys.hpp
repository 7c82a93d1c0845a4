// --authorized-keys: the clients' keys and their rights. One key per line, options before it as in OpenSSH's
// authorized_keys:
//
//     dir="alice",write,rate="200M",quota="100G" udtx-ed25519 BASE64 alice@lab
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "udtx/credentials.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

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

}  // namespace udtx::apps

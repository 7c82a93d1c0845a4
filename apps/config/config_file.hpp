// A configuration file in the style of ssh_config: lines of "key value". Lines at the top hold for every run, lines in
// a Host block for the hosts that it names. Keys are the long names of the tools' flags. HostName and Port give the
// host's address.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

struct Setting {
    std::string key;  ///< in lower case, with '-' in place of '_'
    std::string value;
    int line = 0;
};

struct HostBlock {
    std::vector<std::string> patterns;  ///< empty: the top of the file
    std::vector<Setting> settings;

    /// Matches as in ssh_config: '*' and '?' are wildcards, at least one pattern must match, and no "!pattern" may
    /// match. If `host` is empty (the run connects to no host), only the top of the file applies.
    [[nodiscard]] bool applies_to(std::string_view host) const;
};

struct ConfigFile {
    std::string name;  ///< the file's name in messages
    std::vector<HostBlock> blocks;
};

/// invalid_argument: the message names the file and the line.
Result<ConfigFile> parse_config(std::string_view text, std::string name);
/// Empty if the file does not exist. A file that other users may write is refused, because it can name programs to run.
/// `foreign`, if not null, becomes the reason why a file of another user was not read. That is not an error, because
/// HOME may be another user's.
Result<std::optional<ConfigFile>> read_config(const std::string& path, std::string* foreign = nullptr);

}  // namespace udtx::apps

// A configuration file in the manner of ssh_config: "key value" lines, at the top for every run, in Host blocks for
// the hosts that they name. Keys are the long names of the tools' flags; HostName and Port say where a host is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

struct Setting {
    std::string key;  ///< lower case, with '-' for '_'
    std::string value;
    int line = 0;
};

struct HostBlock {
    std::vector<std::string> patterns;  ///< empty: the top of the file
    std::vector<Setting> settings;

    /// As in ssh_config: '*' and '?' stand for others, one pattern must match and no "!pattern" may. A run that dials
    /// nobody (`host` empty) has the top of the file only.
    [[nodiscard]] bool applies_to(std::string_view host) const;
};

struct ConfigFile {
    std::string name;  ///< as users are told of it
    std::vector<HostBlock> blocks;
};

/// invalid_argument names file and line.
Result<ConfigFile> parse_config(std::string_view text, std::string name);
/// Nothing where there is no such file. A file that others may write is refused: it can name programs to run.
Result<std::optional<ConfigFile>> read_config(const std::string& path);

}  // namespace udtx::apps

// Remembers where each setting that is not from the command line came from, so that an error names that place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "udtx/result.hpp"

namespace udtx::apps {

class Origins {
  public:
    std::vector<std::string> left_out;  ///< why settings files were not read; for warnings

    void note(const std::string& flag, const std::string& origin) { origin_[flag] = origin; }
    /// True if the flag was not on the command line.
    [[nodiscard]] bool has(const std::string& flag) const { return origin_.count(flag) > 0; }
    /// "--rate: ..." becomes "--rate: ... (set by /etc/udtx/config:3)".
    [[nodiscard]] Error attribute(Error error) const {
        const std::string flag = error.message.substr(0, error.message.find_first_of(": "));
        const auto found = origin_.find(flag);
        if (found != origin_.end()) error.message += " (set by " + found->second + ")";
        return error;
    }

  private:
    std::map<std::string, std::string> origin_;  ///< key: "--flag"
};

}  // namespace udtx::apps

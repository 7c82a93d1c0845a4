// Names of files that were not sent and that have other names: links to them would lead to the receiver's old version.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "transfer/names.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

class UnreplacedNames {
  public:
    /// The receiver's version under this name is not replaced.
    void add(const ScannedEntry& entry) {
        if (entry.linked) names_.try_emplace(path_key(entry.path));
    }
    /// Redirects a link to a name that has its file. False: there is none yet, and this name must be sent as a file
    /// instead.
    [[nodiscard]] bool lead(ScannedEntry& link) {
        for (;;) {
            const auto first = names_.find(path_key(link.target));
            if (first == names_.end()) return true;
            if (first->second.empty()) {
                first->second = link.path;
                return false;
            }
            link.target = first->second;
        }
    }

  private:
    std::unordered_map<std::uint64_t, std::string> names_;  // by path key: the name that was sent in place of it
};

}  // namespace udtx::transfer

// Other names of files that were not sent: their links would lead to what the receiver had.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "transfer/names.hpp"
#include "transfer/source/scanner.hpp"

namespace udtx::transfer {

class UnreplacedNames {
  public:
    /// The name stays what it was at the receiver.
    void add(const ScannedEntry& entry) {
        if (entry.linked) names_.try_emplace(path_key(entry.path));
    }
    /// Leads a link to a name that has its file. False: there is none yet, and this one is to be sent in its place.
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
    std::unordered_map<std::uint64_t, std::string> names_;  // by path key; what was sent in place of each
};

}  // namespace udtx::transfer

// The files that the earlier connections of a transfer have sent. A receiver that was killed may not know that it
// received a file. A later connection then finds the file as if it had always existed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "transfer/names.hpp"

namespace udtx::transfer {

/// One thread at a time. An entry has sixteen bytes, since there may be millions of files.
class SentNames {
  public:
    /// Starts another connection: all names added so far belong to earlier ones.
    void begin_connection() {
        earlier_.insert(earlier_.end(), added_.begin(), added_.end());
        added_.clear();
        std::sort(earlier_.begin(), earlier_.end(), std::greater<>());
        const auto same_name = [](const Sent& a, const Sent& b) { return a.first == b.first; };
        earlier_.erase(std::unique(earlier_.begin(), earlier_.end(), same_name), earlier_.end());
    }
    void add(std::string_view path, std::uint64_t bytes) { added_.emplace_back(path_key(path), bytes); }
    /// The bytes that an earlier connection sent of that file, if it sent the whole file.
    [[nodiscard]] std::optional<std::uint64_t> earlier(std::string_view path) const {
        const std::uint64_t key = path_key(path);
        const auto at = std::lower_bound(earlier_.begin(), earlier_.end(), key,
                                         [](const Sent& sent, std::uint64_t wanted) { return sent.first > wanted; });
        return at != earlier_.end() && at->first == key ? std::optional(at->second) : std::nullopt;
    }

  private:
    using Sent = std::pair<std::uint64_t, std::uint64_t>;
    std::vector<Sent> earlier_;  // by descending key, with the largest number of each key
    std::vector<Sent> added_;
};

}  // namespace udtx::transfer

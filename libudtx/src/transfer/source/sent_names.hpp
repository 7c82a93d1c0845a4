// Which files the earlier connections of a transfer have sent. A receiver that was killed may know nothing of a file
// that it delivered: a later connection then finds it as if it had always stood there.
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

/// One thread at a time. Sixteen bytes a file, since there may be millions.
class SentNames {
  public:
    /// Another connection: what was added up to now is of earlier ones.
    void begin_connection() {
        earlier_.insert(earlier_.end(), added_.begin(), added_.end());
        added_.clear();
        std::sort(earlier_.begin(), earlier_.end(), std::greater<>());
        const auto same_name = [](const Sent& a, const Sent& b) { return a.first == b.first; };
        earlier_.erase(std::unique(earlier_.begin(), earlier_.end(), same_name), earlier_.end());
    }
    void add(std::string_view path, std::uint64_t bytes) { added_.emplace_back(path_key(path), bytes); }
    /// How many bytes of that file an earlier connection sent, if it sent the file to its end.
    [[nodiscard]] std::optional<std::uint64_t> earlier(std::string_view path) const {
        const std::uint64_t key = path_key(path);
        const auto at = std::lower_bound(earlier_.begin(), earlier_.end(), key,
                                         [](const Sent& sent, std::uint64_t wanted) { return sent.first > wanted; });
        return at != earlier_.end() && at->first == key ? std::optional(at->second) : std::nullopt;
    }

  private:
    using Sent = std::pair<std::uint64_t, std::uint64_t>;
    std::vector<Sent> earlier_;  // by falling key, and of each the largest number
    std::vector<Sent> added_;
};

}  // namespace udtx::transfer

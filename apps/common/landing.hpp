// Where things land that come to a DEST as scp and cp take it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

using transfer::SourceShape;
[[nodiscard]] std::string_view to_string(SourceShape shape) noexcept;
[[nodiscard]] std::optional<SourceShape> parse_source_shape(std::string_view text) noexcept;
/// What sources that exist amount to.
[[nodiscard]] SourceShape shape_of(const std::vector<std::string>& sources);

struct Landing {
    std::string directory;  ///< exists, and can be written; empty: only a dry run would have it made
    std::string rename;     ///< the one thing that comes gets this name; empty: it keeps its own
};

/// An existing directory takes what comes; one that ends in '/' is made, with all above it; what does not exist becomes
/// the new name of the one thing that comes. A run that continues `transfer` lands where that began, although DEST
/// exists by now.
Result<Landing> find_landing(const std::string& destination, SourceShape shape, std::uint64_t transfer,
                             bool dry_run = false);

/// Before find_landing(): nothing stands there by one of `names`, and no run of `transfer` has left anything. No names:
/// what comes is not known.
[[nodiscard]] bool is_fresh(const std::string& destination, const std::vector<std::string>& names,
                            std::uint64_t transfer);
/// What sources bring, at the top of what takes them; none if that is not known.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<std::string>& sources);

/// "~" and "~user" at the front, as a shell would.
[[nodiscard]] std::string expand_home(const std::string& path);

}  // namespace udtx::apps

// Flags of rsync, scp and ascp that udtx does not have, and what to write in their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace udtx::apps {

/// `flag` has its dashes. Empty: the flag is not known from those programs. No advice leads to a deletion, unless the
/// flag itself asks for one.
[[nodiscard]] std::optional<std::string> advice_for_habit(std::string_view flag);

}  // namespace udtx::apps

// Formats one entry of a dry run as a line or an object: what a real run would do with it, and why. The letters are
// rsync's.
#pragma once

#include <string>
#include "udtx/transfer/plan.hpp"

namespace udtx::apps {

/// rsync's eleven letters, YXcstpoguax. `receives`: this side receives the files.
[[nodiscard]] std::string itemized_letters(const transfer::PlannedEntry& entry, bool receives);
/// The letters, the name, and a link's target.
[[nodiscard]] std::string itemized_line(const transfer::PlannedEntry& entry, bool receives);
/// The same as a JSON object; with `event` it has the key "event".
[[nodiscard]] std::string itemized_json(const transfer::PlannedEntry& entry, bool receives, bool event);

}  // namespace udtx::apps

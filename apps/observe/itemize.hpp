// One line, or one object, for an entry of a dry run: what would be done with it, and why. The letters are rsync's.
#pragma once

#include <string>
#include "udtx/transfer/plan.hpp"

namespace udtx::apps {

/// rsync's eleven letters, YXcstpoguax. `receives`: the files come here.
[[nodiscard]] std::string itemized_letters(const transfer::PlannedEntry& entry, bool receives);
/// The letters, the name, and where a link leads.
[[nodiscard]] std::string itemized_line(const transfer::PlannedEntry& entry, bool receives);
/// The same as a JSON object; with `event` it has the key "event".
[[nodiscard]] std::string itemized_json(const transfer::PlannedEntry& entry, bool receives, bool event);

}  // namespace udtx::apps

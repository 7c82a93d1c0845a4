// Linux's seccomp: system calls that no receiver makes, and that somebody who took one over would, are refused.
#pragma once

#include "udtx/result.hpp"

namespace udtx::apps {

/// Needs PR_SET_NO_NEW_PRIVS.
Result<void> enter_call_filter();

}  // namespace udtx::apps

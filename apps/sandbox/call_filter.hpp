// Linux's seccomp: system calls that no receiver makes, and that somebody who took one over would, are refused.
#pragma once

#include "udtx/result.hpp"

namespace udtx::apps {

/// Needs PR_SET_NO_NEW_PRIVS.
Result<void> enter_call_filter();
/// From now on, in all threads: no new sockets of this machine's own kind, by which other programs take orders. After
/// enter_call_filter() in the thread that started them.
Result<void> refuse_local_sockets();

}  // namespace udtx::apps

// Linux's seccomp: refuses system calls that a receiver never makes, but that an attacker in its process would make.
#pragma once

#include "udtx/result.hpp"

namespace udtx::apps {

/// Needs PR_SET_NO_NEW_PRIVS.
Result<void> enter_call_filter();
/// From now on, refuses new local (AF_UNIX) sockets in all threads, because other programs take commands over them.
/// Call it after enter_call_filter(), in the thread that started the others.
Result<void> refuse_local_sockets();

}  // namespace udtx::apps

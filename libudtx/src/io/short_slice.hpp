// Prompt wake-ups of a thread that paces packets on a busy machine.
#pragma once

namespace udtx::io {

/// Asks the scheduler for the shortest time slice for the calling thread: it may run no longer at a time, and in return
/// a wake-up need not wait until another thread's slice ends (Linux 6.12 and later; elsewhere nothing happens). Takes
/// no privileges and no share from others. False when nothing was changed.
bool ask_for_short_slice() noexcept;

}  // namespace udtx::io

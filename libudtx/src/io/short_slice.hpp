// Prompt wake-ups on a busy machine, for a thread that paces packets.
#pragma once

namespace udtx::io {

/// Requests the shortest time slice for the calling thread. The thread then runs less long at a time. In return its
/// wake-up need not wait until another thread's slice ends (Linux 6.12 and later; no effect elsewhere). It needs no
/// privileges and takes no share from others. False if nothing changed.
bool ask_for_short_slice() noexcept;

/// Makes waits of the calling thread end on time. Linux delays the end of a wait by up to 50 us to save energy, which
/// is longer than the time between two paced batches.
void ask_for_exact_waits() noexcept;

}  // namespace udtx::io

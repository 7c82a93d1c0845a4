// Which calls fail, and how many there were. A library that is preloaded into a program under test asks here at each
// call; nothing fails before main() has begun, so the dynamic loader is left alone.
//
// UDTX_FAULT=KIND:ERROR:WHEN[,...]   WHEN is N (the nth call of the kind), N+ (all from there on) or %K (every kth).
//                                    ERROR is a name as in errno(3), or "short": fewer bytes than were asked for
// UDTX_FAULT_COUNTS=FILE             Record (below) of each kind, kept up to date: a program may end by _exit()
// UDTX_FAULT_TRACE=FILE              Where the first call that failed was made from, and where the program was when a
// signal
//                                    ended it
#pragma once

#include <atomic>
#include <cstdint>

namespace udtx::faults {

enum class Kind : unsigned {
    open,     // of what is there, to read
    create,   // to write
    openat2,  // may be missing: what it opens is counted above, too
    opendir,
    readdir,
    read,   // of files
    write,  // to files
    pipe_read,
    pipe_write,
    event,  // reads and writes of event and timer descriptors, of which none is to fail
    copy,
    sync,
    close,  // of files that were open to write; they are closed all the same
    rename,
    renameat2,
    link,
    symlink,
    unlink,
    mkdir,
    truncate,
    allocate,
    seek,
    times,
    mode,
    owner,
    attributes,
    stat,
    readlink,
    lock,
    duplicate,
    send,
    receive,
    socket,
    bind,
    option,
    poll,
    pipe,
    timer,
    memory,
    thread,
    count
};

constexpr auto kKinds = static_cast<unsigned>(Kind::count);

struct Record {
    char name[16];
    std::atomic<std::uint64_t> made;
    std::atomic<std::uint64_t> failed;
};

constexpr int kShort = -1;

/// Counts a call; 0, the error that it ends with, or kShort.
int next(Kind kind) noexcept;
/// The same for what cannot be cut short.
inline int error_of(Kind kind) noexcept {
    const int error = next(kind);
    return error == kShort ? 0 : error;
}
/// Of a program that has the stand-ins in it: this is to fail, and nothing has been counted.
void choose(Kind kind, int error, std::uint64_t n, bool every) noexcept;
/// How many calls have failed since then.
std::uint64_t failures() noexcept;
/// From here on, or no more.
void arm(bool on) noexcept;

}  // namespace udtx::faults

// Which calls fail, and how many there were. The library is preloaded into a program under test and asks next() at each
// call. No call fails before main() starts, so the dynamic loader is not affected.
//
// UDTX_FAULT=KIND:ERROR:WHEN[,...]   WHEN is N (the nth call of the kind), N+ (all from the nth on) or %K (every kth).
//                                    ERROR is a name as in errno(3), or "short": fewer bytes than were asked for.
// UDTX_FAULT_COUNTS=FILE             A Record (below) for each kind, kept up to date, as a program may end by _exit().
// UDTX_FAULT_TRACE=FILE              The call stack of the first call that failed, and of the program when a signal
//                                    ended it.
#pragma once

#include <atomic>
#include <cstdint>

namespace udtx::faults {

enum class Kind : unsigned {
    open,     // of an existing file, to read
    create,   // of a file, to write
    openat2,  // the system may lack it; each call also counts as open or create
    opendir,
    readdir,
    read,   // from files
    write,  // to files
    pipe_read,
    pipe_write,
    event,  // reads and writes of event and timer descriptors; the tests never make them fail
    copy,
    sync,
    syncfs,
    close_part,  // of temporary files of a transfer that were open for writing; a failing call still closes them
    close,       // of other files, as close_part
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

/// Counts a call. Returns 0, the error that the call has to return, or kShort.
int next(Kind kind) noexcept;
/// The same for calls that cannot be cut short.
inline int error_of(Kind kind) noexcept {
    const int error = next(kind);
    return error == kShort ? 0 : error;
}
/// For a program that is linked with the stand-ins: chooses the failure and resets the counts.
void choose(Kind kind, int error, std::uint64_t n, bool every) noexcept;
/// How many calls have failed since choose().
std::uint64_t failures() noexcept;
/// Starts or stops counting and failing.
void arm(bool on) noexcept;

}  // namespace udtx::faults

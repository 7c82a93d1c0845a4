"""Which calls fail, with which error, and the expected result."""
import random

# Errors that a program has to survive: it retries, or works without the call. The transfer completes with code 0.
RETRIED = {
    "open": ["EINTR"], "create": ["EINTR"], "openat2": ["EINTR", "EAGAIN"], "read": ["EINTR", "short"], "write": ["EINTR", "short"],
    "pipe_read": ["EINTR", "EAGAIN"], "pipe_write": ["EINTR"], "copy": ["EINTR", "short", "EOPNOTSUPP", "ENOSYS", "EXDEV"],
    "sync": ["EINTR"], "syncfs": ["EINTR"], "close_part": ["EINTR"], "close": ["EINTR"], "rename": ["EINTR"], "renameat2": ["ENOSYS", "EINVAL", "EINTR"], "link": ["EINTR"],
    "symlink": ["EINTR"], "times": ["EINTR"], "mode": ["EINTR"], "truncate": ["EINTR"],
    "allocate": ["EINTR", "EOPNOTSUPP", "ENOSYS"], "seek": ["EINVAL"], "lock": ["EINTR"],
    "send": ["EAGAIN", "EINTR", "ENOBUFS", "ENETDOWN", "ENETUNREACH", "short"],
    "receive": ["EAGAIN", "EINTR", "ENOBUFS", "ENETDOWN", "ENOMEM", "short"],
    "option": ["ENOPROTOOPT"], "poll": ["EINTR"],
}
# Errors that may cost an entry, a transfer or the start of a program, but never produce a false result.
REFUSED = {
    "open": ["EACCES", "EMFILE", "EIO"], "create": ["EROFS", "EDQUOT", "EACCES", "EMFILE", "ENOSPC", "EIO"],
    "openat2": ["EMFILE", "EIO"], "opendir": ["ENOMEM", "EMFILE"], "readdir": ["EIO"], "read": ["EIO"],
    "write": ["ENOSPC", "EIO", "EDQUOT"], "copy": ["EIO", "ENOSPC"], "sync": ["EIO", "ENOSPC", "EDQUOT"], "syncfs": ["EIO"],
    "close_part": ["EIO", "EDQUOT"], "close": ["EIO", "EDQUOT"],
    "rename": ["EIO", "ENOSPC", "EACCES", "EROFS", "EDQUOT"], "renameat2": ["EIO", "EACCES"],
    "link": ["EIO", "ENOSPC", "EPERM", "EDQUOT"], "symlink": ["EIO", "ENOSPC", "EACCES"],
    "unlink": ["EIO", "EACCES", "EROFS"], "mkdir": ["ENOSPC", "EACCES", "EDQUOT", "EROFS"],
    "truncate": ["EIO", "ENOSPC"], "allocate": ["ENOSPC", "EIO", "EDQUOT"], "seek": ["EIO"],
    "times": ["EPERM", "EIO", "EROFS"], "mode": ["EPERM", "EIO"], "owner": ["EPERM"],
    "attributes": ["EPERM", "ENOSPC", "EIO"], "stat": ["EIO", "EACCES", "ENOMEM"],
    "readlink": ["EIO", "EACCES"], "lock": ["ENOLCK"], "duplicate": ["EMFILE"],
    "socket": ["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"], "bind": ["EADDRINUSE"], "pipe": ["EMFILE"],
    "memory": ["ENOMEM"], "thread": ["EAGAIN"],
}
# Errors that last, as with a full disk, an interrupting profiler or a host without memory.
LASTING = [("write", "ENOSPC"), ("write", "EIO"), ("create", "EROFS"), ("create", "EDQUOT"), ("create", "EMFILE"), ("sync", "EIO"), ("syncfs", "EIO"), ("close_part", "EIO"), ("close", "EIO"),
           ("rename", "EIO"), ("memory", "ENOMEM"), ("thread", "EAGAIN"), ("mkdir", "ENOSPC"), ("read", "EIO")]
MISSING = [("openat2", "ENOSYS"), ("renameat2", "ENOSYS"), ("copy", "ENOSYS"), ("allocate", "EOPNOTSUPP")]
# The system reports lost writes only once, at these calls, and the next one succeeds: code 0 would be false.
LOSE_DATA = ("sync:", "syncfs:", "close_part:")
# Short and interrupted calls everywhere.
EVERYWHERE = [
    "write:short:%1,read:short:%1,copy:short:%1,send:short:%1,receive:short:%1",
    "write:EINTR:%2,read:EINTR:%2,open:EINTR:%2,create:EINTR:%2,openat2:EINTR:%2,sync:EINTR:%2,truncate:EINTR:%2,"
    "allocate:EINTR:%2,copy:EINTR:%2,lock:EINTR:%2,poll:EINTR:%2,send:EINTR:%2,receive:EINTR:%2,pipe_read:EINTR:%2,"
    "pipe_write:EINTR:%2",
    "write:EINTR:%3,write:short:%2,read:EINTR:%3,read:short:%2,open:EINTR:%3,create:EINTR:%3,openat2:EINTR:%3,"
    "sync:EINTR:%3,truncate:EINTR:%3,allocate:EINTR:%3,copy:short:%2,copy:EINTR:%3,poll:EINTR:%3,send:EINTR:%3",
]
BUSY_SOCKETS = [f"send:{send}:%{k},receive:{receive}:%{k + 1}" for k in (2, 3, 7)
                for send, receive in (("EAGAIN", "EAGAIN"), ("ENOBUFS", "ENOBUFS"), ("ENETDOWN", "ENETDOWN"))]


class Case:
    def __init__(self, role, rule, completes, number):
        self.role, self.rule, self.completes, self.number = role, rule, completes, number
        self.lasting = "+" in rule or "%" in rule

    def name(self):
        return f"{self.role}={self.rule}"


def number_of(kind, error):
    """The number in the fault matrix."""
    if kind == "memory":
        return 9
    if error in ("short", "EINTR") and kind not in ("send", "receive"):
        return 55
    if kind in ("send", "receive"):
        return 77
    if error == "EIO":
        return 54
    if error == "ENOSPC":
        return 53
    if error in ("EROFS", "EDQUOT", "EACCES", "EMFILE"):
        return 56
    return None


def spread(count, most, rng):
    """At most so many numbers of calls, evenly spread; the seed chooses the place within each part."""
    if count <= most:
        return list(range(1, count + 1))
    step = count / most
    return sorted({1 + min(count - 1, int((i + rng.random()) * step)) for i in range(most)})


def calls_by_number(counts):
    """{number in the fault matrix: how many calls could fail, counted once for each of their errors}"""
    out = {}
    for table in (RETRIED, REFUSED):
        for kind, errors in table.items():
            for error in errors:
                number = number_of(kind, error)
                if number is not None:
                    out[number] = out.get(number, 0) + counts.get(kind, 0)
    return out


def all_cases(role, counts, most, memory, seed):
    """The cases: `most` calls of each kind and error, `memory` allocations."""
    rng = random.Random(f"{seed}/{role}")
    for table, completes in ((RETRIED, True), (REFUSED, False)):
        for kind, errors in table.items():
            for error in errors:
                for n in spread(counts.get(kind, 0), memory if kind == "memory" else most, rng):
                    yield Case(role, f"{kind}:{error}:{n}", completes, number_of(kind, error))
    for kind, error in LASTING:
        for n in spread(counts.get(kind, 0), (memory + 3) // 4 if kind == "memory" else most, rng):
            yield Case(role, f"{kind}:{error}:{n}+", False, number_of(kind, error))
    for kind, error in MISSING:
        if counts.get(kind, 0):
            yield Case(role, f"{kind}:{error}:1+", True, None)
    for rule in EVERYWHERE:
        yield Case(role, rule, True, 55)
    for rule in BUSY_SOCKETS:
        yield Case(role, rule, True, 77)

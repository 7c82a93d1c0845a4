"""sync_order.py TRACE ROOT: checks the order of a receiver's calls below ROOT, from `strace -f -y`.

1. A file gets its name only after a sync of its data.
2. A directory is synced after its last new name.
3. The pieces of a large file are synced while it arrives.
4. A part of a file, which other shards complete, is synced before the end.
"""
import os
import re
import sys

LINE = re.compile(r"^(\d+) +(.*)$")
CALL = re.compile(r"^(\w+)\((.*)$")
RESULT = re.compile(r"\) += (-?\d+)")
PLACE = re.compile(r"^-?\d+<([^>]*)>|^AT_FDCWD<([^>]*)>")
NAMES = re.compile(r"(?:\d+|AT_FDCWD)<([^>]*)>, \"([^\"]*)\"")
PIECES = 8 << 20  # a sync for so many bytes
WRITES = ("write", "pwrite64", "pwritev", "ftruncate")
SYNCS = ("fdatasync", "fsync")


class Event:
    def __init__(self, call, text, begun, ended, result):
        self.call, self.text, self.begun, self.ended, self.result = call, text, begun, ended, result
        place = PLACE.match(text)
        self.path = (place.group(1) or place.group(2)) if place else ""


def events(lines):
    """The calls that succeeded. A call that other threads interrupt has two lines."""
    open_calls = {}
    for number, line in enumerate(lines):
        thread, rest = LINE.match(line).groups() if LINE.match(line) else ("", "")
        if rest.startswith("<... "):
            begun, text = open_calls.pop(thread, (number, ""))
            rest = text + re.sub(r"^<\.\.\. \w+ resumed>", "", rest)
        elif rest.endswith("<unfinished ...>"):
            open_calls[thread] = (number, rest[:-len("<unfinished ...>")])
            continue
        else:
            begun = number
        call, result = CALL.match(rest), RESULT.search(rest)
        if call and result and int(result.group(1)) >= 0:
            yield Event(call.group(1), call.group(2), begun, number, int(result.group(1)))


def check(calls, root):
    """The violations, and how many names were looked at."""
    wrong, names = [], 0

    def synced(path, after, before):
        return any(event.begun > after and event.ended < before for event in calls
                   if event.call in ("syncfs", "sync") or (event.call in SYNCS and event.path == path))
    end = len(calls) and calls[-1].ended + 1
    # A test of the name renames a file to another temporary name and back.
    moved = set()
    for event in calls:
        pairs = [os.path.join(*pair) for pair in NAMES.findall(event.text)]
        if pairs and event.call.startswith(("rename", "unlink")) and not (len(pairs) == 2 and pairs[1].endswith(".part")):
            moved.add(pairs[0])
    parts = {event.path: event.ended for event in calls
             if event.call in WRITES and event.path.startswith(root) and event.path.endswith(".part") and event.path not in moved}
    names += len(parts)
    wrong += [f"{path} has data that is not synced" for path, written in parts.items() if not synced(path, written, end)]
    for event in calls:
        pairs = [os.path.join(*pair) for pair in NAMES.findall(event.text)]
        inside = [path for path in pairs if path.startswith(root)]
        if event.call.startswith("rename") and len(inside) == 2 and inside[0].endswith(".part"):
            names += 1
            data = [other for other in calls if other.call in WRITES and other.path == inside[0] or
                    other.call == "copy_file_range" and f"<{inside[0]}>" in other.text]
            written = max((other.ended for other in data), default=-1)
            # Empty files and links have no data; tests of a name rename back and forth.
            if data and not inside[1].endswith(".part") and not synced(inside[0], written, event.begun):
                wrong.append(f"{inside[1]} has its name before its data is synced")
            size = sum(other.result for other in data)
            during = sum(other.call in SYNCS and other.path == inside[0] and other.ended < event.begun for other in calls)
            if not inside[1].endswith(".part") and during < size // PIECES:
                wrong.append(f"{inside[1]}: {during} syncs for {size} bytes")
        made = event.call == "mkdirat" and len(inside) == 1
        named = event.call in ("renameat", "renameat2", "linkat") and len(inside) == 2 and not inside[1].endswith(".part")
        if (made or named) and not synced(os.path.dirname(inside[-1]), event.ended, end):
            wrong.append(f"the directory of {inside[-1]} is not synced afterwards")
    return wrong, names


def self_test():
    trace = [
        '1 pwrite64(5</d/.udtx-1.part>, "x"..., 1, 0) = 1', "1 fdatasync(5</d/.udtx-1.part> <unfinished ...>",
        "2 fsync(7</other>) = 0", "1 <... fdatasync resumed>) = 0", '1 renameat(4</d>, ".udtx-1.part", 4</d>, "f") = 0',
        "1 fsync(4</d>) = 0", "1 +++ exited with 0 +++"]
    assert check(list(events(trace)), "/d") == ([], 1)
    for left_out in (1, 5):
        assert len(check(list(events(trace[:left_out] + trace[left_out + 1:])), "/d")[0]) == 1, left_out
    assert len(check(list(events(trace[:1] + trace[4:5] + trace[1:4] + trace[5:])), "/d")[0]) == 1
    assert check(list(events([*trace[:1], "1 syncfs(3</d>) = 0", *trace[4:]])), "/d") == ([], 1)
    kept = [*trace[:4], trace[6]]
    assert check(list(events(kept)), "/d") == ([], 1)
    assert len(check(list(events([kept[0], kept[2], kept[4]])), "/d")[0]) == 1
    assert len(check(list(events([line.replace("= 1", "= 9000000") for line in trace[:1]] + trace[4:])), "/d")[0]) == 2


self_test()
with open(sys.argv[1], errors="replace") as file:
    found, looked = check(list(events(file.read().splitlines())), os.path.realpath(sys.argv[2]))
print("\n".join(found[:20]))
if looked == 0:
    print("no file was renamed: the trace is not understood")
sys.exit(1 if found or looked == 0 else 0)

"""Versions of a tree, and the states that a power cut may leave of them."""
import hashlib
import os
import stat
from collections import namedtuple

Found = namedtuple("Found", "what inode")  # what: kind and content; inode: for files

OWN = ".udtx-"  # prefix of journals and temporary files of transfers


def digest(path):
    with open(path, "rb", buffering=0) as file:
        return hashlib.sha1(file.read()).digest()


def look_at(path):
    try:
        st = os.lstat(path)
        if stat.S_ISDIR(st.st_mode):
            return Found(("directory",), None)
        if stat.S_ISLNK(st.st_mode):
            return Found(("link", os.readlink(path)), None)
        return Found(("file", st.st_size, digest(path)), (st.st_dev, st.st_ino))
    except OSError as error:
        return Found(("unreadable", error.strerror), None)


def scan(root):
    """Everything below `root`, by path; empty if there is no such directory."""
    found = {}
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        try:
            names = os.listdir(os.path.join(root, directory))
        except FileNotFoundError:
            continue
        except OSError as error:
            found[directory] = Found(("unreadable", error.strerror), None)
            continue
        for name in names:
            path = os.path.join(directory, name)
            if name.startswith(OWN):
                continue
            found[path] = look_at(os.path.join(root, path))
            if found[path].what == ("directory",):
                waiting.append(path)
    return found


def facts(root):
    """Includes modes and whole-second times: the result of a successful transfer, without a power cut."""
    found = {}
    for directory, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            mode_and_time = () if stat.S_ISLNK(st.st_mode) else (stat.S_IMODE(st.st_mode), st.st_mtime_ns // 10**9)
            found[os.path.relpath(path, root)] = look_at(path).what + mode_and_time
    return found


def same_files(version):
    """Groups of names that belong to one file."""
    groups = {}
    for path, found in version.items():
        if found.inode is not None:
            groups.setdefault(found.inode, []).append(path)
    return [paths for paths in groups.values() if len(paths) > 1]


def allowed(path, old, new):
    """Allowed states of a path: the old version, the new one, and nothing if one version has nothing or its kind
    changes."""
    states = [version.get(path) for version in (old, new)]
    whats = {state.what if state else None for state in states}
    if len({what[0] for what in whats if what}) > 1:
        whats.add(None)
    return whats


def judge(found, old, new, confirmed_files):
    """Returns the errors as lines. `old` was confirmed. `new` is in transfer (or equals `old`), and the sender knows
    that this number of its files is delivered."""
    wrong = []
    for path in sorted(set(found) | set(old) | set(new)):
        is_there = found[path].what if path in found else None
        if is_there not in allowed(path, old, new):
            wrong.append(f"{path}: {describe(is_there)} instead of {describe_all(allowed(path, old, new))}")
    complete = sum(1 for path, entry in new.items() if entry.inode and path in found and found[path].what == entry.what)
    if complete < confirmed_files:
        wrong.append(f"{complete} files are complete, {confirmed_files} were confirmed")
    if old is new:
        for paths in same_files(new):
            if len({found[path].inode for path in paths if path in found}) > 1:
                wrong.append(f"{' '.join(paths)}: no longer one file")
    return wrong


def describe(what):
    if what is None:
        return "nothing"
    if what[0] == "file":
        return f"a file of {what[1]} bytes ({what[2].hex()[:8]})"
    return " ".join(what)


def describe_all(whats):
    return " or ".join(sorted(describe(what) for what in whats))

"""The tree that is sent, an older tree at the destination, and what the destination may contain after a failure."""
import hashlib
import os
import random
import stat

MIB = 1 << 20
OLD = 1_600_000_000


class Tree:
    """Creates both trees below a directory, and compares a destination with them."""

    def __init__(self, root):
        self.new, self.old = os.path.join(root, "src"), os.path.join(root, "old")
        rng = random.Random(1)
        big = bytearray(rng.randbytes(5 * MIB + 12345))
        self._fill(self.old, rng, bytes(big), "old")
        big[2 * MIB + 7] ^= 0xFF
        big[5 * MIB + 1] ^= 0xFF
        self._fill(self.new, rng, bytes(big), "new")
        self.wanted, self.before = look(self.new), look(self.old)

    @staticmethod
    def _fill(root, rng, big, which):
        new = which == "new"
        os.makedirs(root + "/dir/below")
        write(root, "big", big, new)
        write(root, "same", b"the same in both\n" * 100, False)
        write(root, "changed", rng.randbytes(70_000), new)
        write(root, "dir/shorter", rng.randbytes(3_000 if new else 9_000), new)
        if new:
            os.makedirs(root + "/empty-directory")
            for i in range(3):
                write(root, f"dir/below/small{i}", rng.randbytes(1_000 * i + 1), new)
            os.makedirs(root + "/many")
            for i in range(24):
                write(root, f"many/small{i}", rng.randbytes(300 * i + 1), new)
            write(root, "becomes", b"a file in the place of a directory\n", new)
            write(root, "first", rng.randbytes(2 * MIB + 5), new)
            write(root, "empty", b"", new)
            os.link(root + "/changed", root + "/dir/other-name")
            with open(root + "/dir/holes", "wb") as file:
                file.write(b"begin")
                file.seek(3 * MIB)
                file.write(b"end")
            os.symlink("big", root + "/link")
            os.symlink("dir/below", root + "/turned")
            set_attribute(root + "/first")
            os.chmod(root + "/dir/below", 0o555)
        else:
            write(root, "gone", b"only here\n", new)
            os.makedirs(root + "/gone-too")
            write(root, "gone-too/file", b"only here\n", new)
            os.symlink("elsewhere", root + "/link")
            os.makedirs(root + "/becomes/below")
            write(root, "becomes/1", b"only here\n", new)
            write(root, "becomes/below/2", b"only here\n", new)
            write(root, "turned", b"a file, to become a link\n", new)
        for directory, _, names in os.walk(root, topdown=False):
            for name in names + ["."]:
                at = os.path.join(directory, name)
                if not os.path.islink(at) and os.stat(at).st_mtime > OLD + 2_000:
                    os.utime(at, (OLD, OLD + (1_000 if new else 0)))

    def problems(self, root, had_old):
        """Wrong files under final names: content that is neither old nor new, or names that were not sent."""
        found = []
        is_there = look(root)
        for path, entry in is_there.items():
            if is_ours(path):
                continue
            may = [tree[path].content for tree in (self.wanted, self.before if had_old else {}) if path in tree]
            if entry.content not in may:
                found.append(f"{path} is {entry.short()}, neither old nor new")
        for path, entry in self.before.items():
            if had_old and path in self.wanted and path not in is_there:
                found.append(f"{path} is gone: it stood there, and is in the new tree")
            # A directory loses its entries only to a file that comes.
            if had_old and is_there.get("becomes") and is_there["becomes"].content == ("directory",):
                if path.startswith("becomes/") and path not in is_there:
                    found.append(f"{path} is gone, and no file came in the place of its directory")
        return found

    def missing(self, root):
        """The paths of the sent tree that are missing."""
        is_there = look(root)
        return sorted(path for path, entry in self.wanted.items()
                      if path not in is_there or is_there[path].content != entry.content)

    def differences(self, root):
        """The paths that differ from the sent tree, including modes, times, link counts and attributes."""
        is_there = look(root)
        return sorted(path for path in set(is_there) | set(self.wanted)
                      if path not in is_there or path not in self.wanted
                      or is_there[path].all() != self.wanted[path].all())


class Entry:
    def __init__(self, at, names):
        st = os.lstat(at)
        self.kind = stat.S_IFMT(st.st_mode)
        self.belongings = [stat.S_IMODE(st.st_mode), st.st_mtime_ns]
        if stat.S_ISLNK(st.st_mode):
            self.content, self.belongings = ("link", os.readlink(at)), []
        elif stat.S_ISREG(st.st_mode):
            with open(at, "rb") as file:
                self.content = ("file", hashlib.sha256(file.read()).hexdigest(), st.st_size)
            self.belongings += [tuple(names.get(st.st_ino, [])), attributes(at)]
        else:
            self.content = ("directory",)

    def all(self):
        return self.content, self.belongings

    def short(self):
        return str(self.content)


def look(root):
    names = {}
    for directory, below, files in os.walk(root):
        for name in sorted(files):
            st = os.lstat(os.path.join(directory, name))
            names.setdefault(st.st_ino, []).append(os.path.relpath(os.path.join(directory, name), root))
    out = {}
    for directory, below, files in os.walk(root):
        for name in below + files:
            at = os.path.join(directory, name)
            out[os.path.relpath(at, root)] = Entry(at, {k: sorted(v) for k, v in names.items()})
    return out


def is_ours(path):
    return ".udtx-" in path


def leftovers(root):
    return [os.path.relpath(os.path.join(directory, name), root)
            for directory, _, names in os.walk(root) for name in names if is_ours(name)]


def write(root, name, data, new):
    with open(os.path.join(root, name), "wb") as file:
        file.write(data)
    os.utime(os.path.join(root, name), (OLD, OLD + (1_000 if new else 0)))


def set_attribute(at):
    try:
        os.setxattr(at, "user.udtx", b"kept")
    except OSError:
        pass  # a disk without attributes


def attributes(at):
    try:
        return [(name, os.getxattr(at, name)) for name in os.listxattr(at) if name.startswith("user.")]
    except OSError:
        return []

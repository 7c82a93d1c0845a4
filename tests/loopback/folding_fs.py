#!/usr/bin/python3
"""A pass-through file system that changes names, as the disks of other systems do.

usage: folding_fs.py RULES DIRECTORY MOUNTPOINT

RULES, joined by commas: fold (finds a name in any case, and keeps the case of its creation), small and large (all names
read in lower or upper case), nfd (names read decomposed), nfkc (ligatures read as their letters), dots (drops a dot or
space at the end), short (only twelve bytes of a name count), inodes (inode numbers of the disk below; without this rule
they derive from names, so that two names of one entry have two numbers), twins (all regular files have one inode number,
two links, and no time of change of their own). Exit code 77: no FUSE here."""
import os
import sys
import unicodedata

try:
    try:
        from fusepy import FUSE, FuseOSError, Operations
    except ImportError:
        from fuse import FUSE, FuseOSError, Operations
except (ImportError, OSError) as error:
    print(f"no fusepy: {error}", file=sys.stderr)
    sys.exit(77)


class Folding(Operations):
    def __init__(self, rules, root):
        self.rules = rules
        self.root = root

    def plain(self, name):
        """The name without the parts that are never kept."""
        if "nfd" in self.rules:
            name = unicodedata.normalize("NFD", name)
        if "nfkc" in self.rules:
            name = unicodedata.normalize("NFKC", name)
        if "dots" in self.rules:
            name = name.rstrip(". ") or name
        if "short" in self.rules and ".udtx-" not in name:
            name = name[:12]
        return name

    def same(self, name):
        """A key that is equal for names that are one on this disk."""
        name = self.plain(name)
        if {"fold", "small", "large"} & self.rules:
            name = name.casefold()
        return name

    def written(self, name):
        """The form in which a new name is stored."""
        name = self.plain(name)
        if "small" in self.rules:
            name = name.lower()
        if "large" in self.rules:
            name = name.upper()
        return name

    def real(self, path):
        at = self.root
        for part in path.strip("/").split("/"):
            if not part:
                continue
            names = []
            if os.path.isdir(at) and not os.path.islink(at):
                names = os.listdir(at)
            if part not in names:
                part = next((n for n in names if self.same(n) == self.same(part)), self.written(part))
            at = os.path.join(at, part)
        return at

    def facts(self, st):
        keys = ("st_atime", "st_ctime", "st_mtime", "st_gid", "st_uid", "st_mode", "st_nlink", "st_size", "st_blocks")
        out = {key: getattr(st, key) for key in keys}
        for key in ("st_atime", "st_ctime", "st_mtime"):
            out[key] = getattr(st, key + "_ns")
        out["st_ino"] = st.st_ino
        if "twins" in self.rules and (st.st_mode & 0o170000) == 0o100000:
            out["st_ino"], out["st_nlink"], out["st_ctime"] = 4711, 2, out["st_mtime"]
        return out

    def getattr(self, path, fh=None):
        return self.facts(os.lstat(self.real(path)) if fh is None else os.fstat(fh))

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(self.real(path))

    def access(self, path, mode):
        if not os.access(self.real(path), mode):
            raise FuseOSError(13)

    def chmod(self, path, mode):
        return os.chmod(self.real(path), mode)

    def chown(self, path, uid, gid):
        return os.chown(self.real(path), uid, gid, follow_symlinks=False)

    def readlink(self, path):
        return os.readlink(self.real(path))

    def mkdir(self, path, mode):
        return os.mkdir(self.real(path), mode)

    def rmdir(self, path):
        return os.rmdir(self.real(path))

    def unlink(self, path):
        return os.unlink(self.real(path))

    def symlink(self, name, target):
        return os.symlink(target, self.real(name))

    def link(self, target, name):
        return os.link(self.real(name), self.real(target))

    def rename(self, old, new):
        return os.rename(self.real(old), self.real(new))

    def statfs(self, path):
        st = os.statvfs(self.real(path))
        keys = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize",
                "f_namemax")
        return {key: getattr(st, key) for key in keys}

    def utimens(self, path, times=None):
        now, then = times if times else (None, None)
        if times is None:
            return os.utime(self.real(path))
        return os.utime(self.real(path), ns=(now, then), follow_symlinks=False)

    def create(self, path, mode, fi=None):
        return os.open(self.real(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(self.real(path), flags & ~os.O_CREAT)

    def read(self, path, length, offset, fh):
        return os.pread(fh, length, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        return os.truncate(self.real(path) if fh is None else fh, length)

    def flush(self, path, fh):
        return 0

    def fsync(self, path, datasync, fh):
        return 0

    def release(self, path, fh):
        return os.close(fh)


if __name__ == "__main__":
    chosen = set(sys.argv[1].split(","))
    operations = Folding(chosen, os.path.abspath(sys.argv[2]))
    operations.use_ns = True
    FUSE(operations, sys.argv[3], foreground=True, nothreads=True,
         **({"use_ino": True} if {"inodes", "twins"} & chosen else {}))

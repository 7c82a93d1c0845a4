"""A file system that reports the loss of data late or never: careless_fs.py KIND BACKING MOUNTPOINT.

forgets: when it is unmounted, it loses all that no fsync of the same file or directory has saved, as in a power cut.
What existed before the mount stays. A sync of the whole file system does not reach it (the kernel prevents that).
refuses: it has no room for content that begins with "refused", nor for files of that name, and reports that when the
file is closed. The kind "drops" accepts bytes beyond 1 MB and drops them. The kind "pretends" does so from 1 MB to 1.5 MB and
beyond 3 MB, and sizes are right. The kind "nods" accepts modes and owners and sets nothing."""
import errno
import os
import sys

from passing_fs import FuseOSError, Passing, mount


class Forgetting(Passing):
    def __init__(self, backing):
        super().__init__(backing)
        self.contents = set()  # inodes of files with unsynced content
        self.names = {}        # unsynced names, by the inode of their directory

    def note_name(self, path):
        self.names.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))

    def note_content(self, fh):
        self.contents.add(os.fstat(fh).st_ino)

    def create(self, path, mode, fi=None):
        fh = super().create(path, mode, fi)
        self.note_name(path)
        self.note_content(fh)
        return fh

    def write(self, path, data, offset, fh):
        self.note_content(fh)
        return super().write(path, data, offset, fh)

    def mkdir(self, path, mode):
        super().mkdir(path, mode)
        self.note_name(path)

    def rename(self, old, new):
        super().rename(old, new)
        self.names.get(os.path.dirname(old), set()).discard(os.path.basename(old))
        self.note_name(new)

    def fsync(self, path, datasync, fh):
        self.contents.discard(os.fstat(fh).st_ino)

    def fsyncdir(self, path, datasync, fh):
        self.names.pop("/" if path == "/" else path.rstrip("/"), None)

    def destroy(self, path):
        for directory, names in self.names.items():
            for name in names:
                lost = os.path.join(self.backing + directory, name)
                if os.path.isfile(lost):
                    os.unlink(lost)
                elif os.path.isdir(lost):
                    os.rename(lost, os.path.join(self.backing, "lost." + name))
        for directory, _, names in os.walk(self.backing):
            for name in names:
                at = os.path.join(directory, name)
                if os.lstat(at).st_ino in self.contents:
                    os.truncate(at, 0)


class Refusing(Passing):
    def flush(self, path, fh):
        at = self.at(path)
        with open(at, "rb") as file:
            begin = file.read(7)
        if begin == b"refused" or (begin and "refused" in os.path.basename(at)):
            os.truncate(at, 0)
            raise FuseOSError(errno.EDQUOT)


MB = 1000000


class Dropping(Passing):
    kept = [(0, MB)]
    right_size = False

    def write(self, path, data, offset, fh):
        for begin, end in self.kept:
            piece = data[max(begin - offset, 0):max(end - offset, 0)]
            if piece:
                os.pwrite(fh, piece, max(begin, offset))
        if self.right_size and os.fstat(fh).st_size < offset + len(data):
            os.ftruncate(fh, offset + len(data))
        return len(data)


class Pretending(Dropping):
    kept = [(0, MB), (MB * 3 // 2, MB * 3)]
    right_size = True


class Nodding(Passing):
    def chmod(self, path, mode):
        pass

    def chown(self, path, uid, gid):
        pass


mount({"forgets": Forgetting, "refuses": Refusing, "drops": Dropping, "pretends": Pretending, "nods": Nodding}[sys.argv[1]](sys.argv[2]), sys.argv[3])

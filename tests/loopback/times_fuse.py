"""A pass-through file system that keeps times as other disks do: times_fuse.py KIND BACKING MOUNTPOINT.

fat: steps of two seconds, from 1980 to 2107. refuse: no time can be set. ignore: setting a time does nothing."""
import errno
import os
import sys

try:
    from fusepy import FUSE, FuseOSError, Operations  # as Debian calls it
except ImportError:
    from fuse import FUSE, FuseOSError, Operations

SECOND = 10**9
FAT_FIRST = 315532800 * SECOND
FAT_LAST = 4354819198 * SECOND


class Times(Operations):
    use_ns = True

    def __init__(self, kind, backing):
        self.kind = kind
        self.backing = backing

    def at(self, path):
        return self.backing + path

    def getattr(self, path, fh=None):
        st = os.lstat(self.at(path))
        names = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks")
        out = {name: getattr(st, name) for name in names}
        out.update(st_atime=st.st_atime_ns, st_mtime=self.kept(st.st_mtime_ns), st_ctime=st.st_ctime_ns)
        return out

    def kept(self, ns):
        if self.kind != "fat":
            return ns
        return min(max(ns // (2 * SECOND) * 2 * SECOND, FAT_FIRST), FAT_LAST)

    def utimens(self, path, times=None):
        if self.kind == "refuse":
            raise FuseOSError(errno.EPERM)
        if self.kind == "ignore":
            return
        os.utime(self.at(path), ns=times and (times[0] if times[0] >= 0 else 0, self.kept(times[1])), follow_symlinks=False)

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(self.at(path))

    def readlink(self, path):
        return os.readlink(self.at(path))

    def mkdir(self, path, mode):
        os.mkdir(self.at(path), mode)

    def rmdir(self, path):
        os.rmdir(self.at(path))

    def unlink(self, path):
        os.unlink(self.at(path))

    def symlink(self, name, target):
        os.symlink(target, self.at(name))

    def link(self, new, old):
        os.link(self.at(old), self.at(new))

    def rename(self, old, new):
        os.rename(self.at(old), self.at(new))

    def chmod(self, path, mode):
        os.chmod(self.at(path), mode)

    def chown(self, path, uid, gid):
        os.chown(self.at(path), uid, gid, follow_symlinks=False)

    def create(self, path, mode, fi=None):
        return os.open(self.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(self.at(path), flags & ~os.O_NOFOLLOW)

    def read(self, path, size, offset, fh):
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self.at(path), length)

    def release(self, path, fh):
        os.close(fh)

    def fsync(self, path, datasync, fh):
        os.fsync(fh)


FUSE(Times(sys.argv[1], sys.argv[2]), sys.argv[3], foreground=True, nothreads=True)

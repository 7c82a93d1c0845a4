"""A pass-through file system that takes less than others: refusing_fs.py KIND BACKING MOUNTPOINT.

windows: no names with characters that Windows does not know. short: names of at most 143 bytes. text: only names that
are valid UTF-8 (so are those that python hands on). plain: no links, no extended attributes, no changes of mode."""
import errno
import os
import re
import sys

try:
    from fusepy import FUSE, FuseOSError, Operations
except ImportError:
    from fuse import FUSE, FuseOSError, Operations


class Refusing(Operations):
    use_ns = True

    def __init__(self, kind, backing):
        self.kind = kind
        self.backing = backing

    def at(self, path, new=False):
        name = os.path.basename(path)
        if new and self.kind == "windows" and re.search(r'[<>:"\\|?*]', name):
            raise FuseOSError(errno.EINVAL)
        if self.kind == "short" and len(os.fsencode(name)) > 143:
            raise FuseOSError(errno.ENAMETOOLONG)
        return self.backing + path

    def refuse_if_plain(self, error):
        if self.kind == "plain":
            raise FuseOSError(error)

    def getattr(self, path, fh=None):
        st = os.lstat(self.at(path))
        names = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks")
        out = {name: getattr(st, name) for name in names}
        out.update(st_atime=st.st_atime_ns, st_mtime=st.st_mtime_ns, st_ctime=st.st_ctime_ns)
        return out

    def utimens(self, path, times=None):
        os.utime(self.at(path), ns=times and (max(times[0], 0), times[1]), follow_symlinks=False)

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(self.at(path))

    def readlink(self, path):
        return os.readlink(self.at(path))

    def mkdir(self, path, mode):
        os.mkdir(self.at(path, True), mode)

    def rmdir(self, path):
        os.rmdir(self.at(path))

    def unlink(self, path):
        os.unlink(self.at(path))

    def symlink(self, name, target):
        self.refuse_if_plain(errno.EPERM)
        os.symlink(target, self.at(name, True))

    def link(self, new, old):
        self.refuse_if_plain(errno.EPERM)
        os.link(self.at(old), self.at(new, True))

    def rename(self, old, new):
        os.rename(self.at(old), self.at(new, True))

    def chmod(self, path, mode):
        self.refuse_if_plain(errno.EPERM)
        os.chmod(self.at(path), mode)

    def chown(self, path, uid, gid):
        os.chown(self.at(path), uid, gid, follow_symlinks=False)

    def setxattr(self, path, name, value, options, position=0):
        self.refuse_if_plain(errno.EOPNOTSUPP)
        os.setxattr(self.at(path), name, value)

    def getxattr(self, path, name, position=0):
        self.refuse_if_plain(errno.EOPNOTSUPP)
        return os.getxattr(self.at(path), name)

    def listxattr(self, path):
        self.refuse_if_plain(errno.EOPNOTSUPP)
        return os.listxattr(self.at(path))

    def create(self, path, mode, fi=None):
        return os.open(self.at(path, True), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

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


FUSE(Refusing(sys.argv[1], sys.argv[2]), sys.argv[3], foreground=True, nothreads=True, raw_fi=False)

"""Base of the tests' file systems that pass calls on to a directory; as a program: passing_fs.py BACKING MOUNT.
While a file BACKING.hang exists, reads and syncs do not return."""
import os
import sys
import time

try:
    from fusepy import FUSE, FuseOSError, Operations  # the name in Debian
except ImportError:
    from fuse import FUSE, FuseOSError, Operations


class Passing(Operations):
    use_ns = True

    def __init__(self, backing):
        self.backing = backing

    def at(self, path, new=False):
        """The path below BACKING; `new`: the name is being created."""
        return self.backing + path

    def hang(self):
        while os.path.exists(self.backing + ".hang"):
            time.sleep(0.05)

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
        os.symlink(target, self.at(name, True))

    def link(self, new, old):
        os.link(self.at(old), self.at(new, True))

    def rename(self, old, new):
        os.rename(self.at(old), self.at(new, True))

    def chmod(self, path, mode):
        os.chmod(self.at(path), mode)

    def chown(self, path, uid, gid):
        os.chown(self.at(path), uid, gid, follow_symlinks=False)

    def create(self, path, mode, fi=None):
        return os.open(self.at(path, True), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path, flags):
        return os.open(self.at(path), flags & ~os.O_NOFOLLOW)

    def read(self, path, size, offset, fh):
        self.hang()
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        os.truncate(self.at(path), length)

    def release(self, path, fh):
        os.close(fh)

    def fsync(self, path, datasync, fh):
        self.hang()
        os.fsync(fh)


def mount(operations, at, threads=False, **options):
    FUSE(operations, at, foreground=True, nothreads=not threads, raw_fi=False, **options)


if __name__ == "__main__":
    mount(Passing(sys.argv[1]), sys.argv[2], threads=True)

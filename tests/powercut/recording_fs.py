#!/usr/bin/python3
"""A file system whose files are disk images: it writes each disk operation to the image and to one log of all disks.

usage: recording_fs.py DIRECTORY MOUNTPOINT

Each *.img in DIRECTORY is a file here, and the loop driver makes a disk of it: a write to the disk is a write here, a
flush is an fsync. DIRECTORY/log records both, in the order in which the disk got their completion. The text that a test
writes to the file `mark` is recorded between them (disk_log.py reads it). Discards are refused, as they are not
recorded."""
import errno
import os
import stat
import sys

from disk_log import DISKS, LogWriter

try:
    from fusepy import FUSE, FuseOSError, Operations  # the name in Debian
except ImportError:
    from fuse import FUSE, FuseOSError, Operations

MARK = "/mark"


class Recording(Operations):
    use_ns = True

    def __init__(self, directory):
        self.images = {}
        for disk, name in enumerate(DISKS):
            image = os.path.join(directory, name + ".img")
            if os.path.exists(image):
                self.images["/" + name + ".img"] = (disk, os.open(image, os.O_RDWR))
        self.log = LogWriter(os.path.join(directory, "log"))

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
        if path == MARK:
            return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": 0}
        if path not in self.images:
            raise FuseOSError(errno.ENOENT)
        size = os.fstat(self.images[path][1]).st_size
        return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": size, "st_blocks": size // 512}

    def readdir(self, path, fh):
        return [".", "..", MARK[1:]] + [name[1:] for name in self.images]

    def open(self, path, flags):
        return 0

    def truncate(self, path, length, fh=None):
        if path != MARK:
            raise FuseOSError(errno.EPERM)

    def read(self, path, size, offset, fh):
        return os.pread(self.images[path][1], size, offset) if path in self.images else b""

    def write(self, path, data, offset, fh):
        if path == MARK:
            self.log.mark(data)
            return len(data)
        disk, image = self.images[path]
        written = os.pwrite(image, data, offset)
        self.log.write(disk, offset, data[:written])
        return written

    def fsync(self, path, datasync, fh):
        if path in self.images:
            self.log.flush(self.images[path][0])

    def destroy(self, path):
        self.log.close()


if __name__ == "__main__":
    # One thread, so that the order in the log is the order of execution.
    FUSE(Recording(sys.argv[1]), sys.argv[2], foreground=True, nothreads=True, big_writes=True, max_write=131072)

"""A pass-through file system that stores times as other disks do: times_fuse.py KIND BACKING MOUNTPOINT.

fat: steps of two seconds, from 1980 to 2107. ignore: setting a time has no effect. close: a written file gets the time
at which it is closed.

replicas: every second look at a file shows a time that is two milliseconds later, as replicas on several servers do.

uncounted: files have no blocks yet."""
import os
import sys

from passing_fs import Passing, mount

SECOND = 10**9
FAT_FIRST = 315532800 * SECOND
FAT_LAST = 4354819198 * SECOND


class Times(Passing):
    def __init__(self, kind, backing):
        super().__init__(backing)
        self.kind = kind
        self.written = set()
        self.looks = 0

    def getattr(self, path, fh=None):
        out = super().getattr(path, fh)
        out["st_mtime"] = self.kept(out["st_mtime"])
        self.looks += 1
        if self.kind == "replicas":
            out["st_mtime"] += self.looks % 2 * 2_000_000
        if self.kind == "uncounted":
            out["st_blocks"] = 0
        return out

    def kept(self, ns):
        if self.kind != "fat":
            return ns
        return min(max(ns // (2 * SECOND) * 2 * SECOND, FAT_FIRST), FAT_LAST)

    def utimens(self, path, times=None):
        if self.kind != "ignore":
            super().utimens(path, times and (times[0], self.kept(times[1])))

    def write(self, path, data, offset, fh):
        self.written.add(fh)
        return super().write(path, data, offset, fh)

    def flush(self, path, fh):
        if self.kind == "close" and fh in self.written:
            self.written.discard(fh)
            os.utime(fh)


mount(Times(sys.argv[1], sys.argv[2]), sys.argv[3], attr_timeout=0 if sys.argv[1] == "replicas" else 1)

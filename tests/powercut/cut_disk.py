"""Images of disks as a power cut leaves them. A disk has a cache: what it was told before its last flush is there, and
of what came after it any part may be."""
import os
import random
from collections import namedtuple

from disk_log import FLUSH, MARK, WRITE

SECTOR = 4096  # is written whole or not at all

# A cut after `position` events. mode: all (the cache was written), lost (none of it), some (sectors by seed).
Point = namedtuple("Point", "position mode seed")


def copy_image(source, target):
    """With its holes, which an image mostly has."""
    size = os.fstat(source).st_size
    os.ftruncate(target, 0)
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(source, at, os.SEEK_HOLE)
        while at < end:
            data = os.pread(source, min(end - at, 1 << 20), at)
            os.pwrite(target, data, at)
            at += len(data)


class CutDisk:
    """One disk; points are asked for in the order of their position."""

    def __init__(self, log, disk, base, cut):
        self.log = log
        self.disk = disk
        self.base = os.open(base, os.O_RDWR)  # what is there for sure
        self.cut = os.open(cut, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self.cut, os.fstat(self.base).st_size)
        self.next = 0
        self.cached = []

    def advance(self, position):
        for event in self.log.events[self.next:position]:
            if event.kind == MARK or event.disk != self.disk:
                continue
            if event.kind == WRITE:
                self.cached.append(event)
                continue
            assert event.kind == FLUSH
            for write in self.cached:
                os.pwrite(self.base, self.log.data(write), write.offset)
            self.cached = []
        self.next = position

    def make_cut(self, point):
        self.advance(point.position)
        copy_image(self.base, self.cut)
        if point.mode == "lost":
            return
        dice = random.Random(f"{point.seed} {self.disk} {point.position}")
        for write in self.cached:
            data = self.log.data(write)
            if point.mode == "all":
                os.pwrite(self.cut, data, write.offset)
                continue
            at = 0
            while at < len(data):
                length = min(SECTOR - (write.offset + at) % SECTOR, len(data) - at)
                if dice.random() < 0.5:
                    os.pwrite(self.cut, data[at:at + length], write.offset + at)
                at += length


def all_points(log, start, subsets):
    """Around each flush and mark from event `start` on, in order; in `subsets` ways a part of the cache is there before
    a flush. Points that leave the same behind, with the same confirmed, count once."""
    points = {}
    told = [0, 0]  # by disk: the latest write, and the latest one that was flushed
    flushed = [0, 0]
    mark = 0

    def add(position, mode, seed=0):
        state = (mode, seed, mark, tuple(flushed), tuple(told) if mode != "lost" else None)
        points.setdefault(state, Point(position, mode, seed))

    for at, event in enumerate(log.events):
        if event.kind == WRITE:
            told[event.disk] = at
        elif event.kind == MARK:
            mark = at
            if at >= start:
                add(at + 1, "lost")
                add(at + 1, "some")
        else:
            if at >= start:
                add(at, "all")
                for seed in range(1, subsets + 1):
                    add(at, "some", seed)
            flushed[event.disk] = told[event.disk]
            if at >= start:
                add(at + 1, "lost")
    return sorted(points.values())

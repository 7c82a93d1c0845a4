"""Images of disks after a power cut. A disk has a cache. Everything written before its last flush is preserved, and any
part of the later writes may be."""
import os
import random
from collections import namedtuple

from disk_log import FLUSH, MARK, WRITE

SECTOR = 4096  # is written completely or not at all

# A cut after `position` events. mode: all (the whole cache was written), lost (none of it), some (sectors by seed).
Point = namedtuple("Point", "position mode seed")


def copy_image(source, target):
    """Copies an image with its holes, as most of an image is holes."""
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
    """The state of one disk. Request points in the order of their position."""

    def __init__(self, log, disk, base, cut):
        self.log = log
        self.disk = disk
        self.base = os.open(base, os.O_RDWR)  # contents that are certain
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
    """The points around each flush and mark from event `start` on, in order. Before a flush, there are `subsets`
    variants with a random part of the cache. Points with the same remaining data and the same confirmations count
    once."""
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

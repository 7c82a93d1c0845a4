"""The log of all disk operations, in one order: writes, flushes, and marks of the test."""
import struct
from collections import namedtuple

DISKS = ("top", "sub")
WRITE, FLUSH, MARK = range(3)
HEAD = struct.Struct("<BBQI")  # kind, disk, offset, length; the written bytes follow

Event = namedtuple("Event", "kind disk offset length at")  # at: position of the bytes in the log


class LogWriter:
    def __init__(self, path):
        self.file = open(path, "wb", buffering=1 << 20)

    def write(self, disk, offset, data):
        self.file.write(HEAD.pack(WRITE, disk, offset, len(data)) + data)

    def flush(self, disk):
        self.file.write(HEAD.pack(FLUSH, disk, 0, 0))

    def mark(self, text):
        self.file.write(HEAD.pack(MARK, 0, 0, len(text)) + text)

    def close(self):
        self.file.close()


class Log:
    def __init__(self, path):
        self.file = open(path, "rb")
        self.events = []
        while head := self.file.read(HEAD.size):
            kind, disk, offset, length = HEAD.unpack(head)
            self.events.append(Event(kind, disk, offset, length, self.file.tell()))
            self.file.seek(length, 1)

    def data(self, event):
        self.file.seek(event.at)
        return self.file.read(event.length)

"""A pass-through file system that accepts less than others: refusing_fs.py KIND BACKING MOUNTPOINT.

windows: no names with characters that Windows forbids. short: names of at most 143 bytes. text: only names that are
valid UTF-8 (python passes on only such names anyway). plain: no links, no extended attributes, no changes of mode."""
import errno
import os
import re
import sys

from passing_fs import FuseOSError, Passing, mount


class Refusing(Passing):
    def __init__(self, kind, backing):
        super().__init__(backing)
        self.kind = kind

    def at(self, path, new=False):
        name = os.path.basename(path)
        if new and self.kind == "windows" and re.search(r'[<>:"\\|?*]', name):
            raise FuseOSError(errno.EINVAL)
        if self.kind == "short" and len(os.fsencode(name)) > 143:
            raise FuseOSError(errno.ENAMETOOLONG)
        return super().at(path, new)

    def refuse_if_plain(self, error):
        if self.kind == "plain":
            raise FuseOSError(error)

    def symlink(self, name, target):
        self.refuse_if_plain(errno.EPERM)
        super().symlink(name, target)

    def link(self, new, old):
        self.refuse_if_plain(errno.EPERM)
        super().link(new, old)

    def chmod(self, path, mode):
        self.refuse_if_plain(errno.EPERM)
        super().chmod(path, mode)

    def setxattr(self, path, name, value, options, position=0):
        self.refuse_if_plain(errno.EOPNOTSUPP)
        os.setxattr(self.at(path), name, value)

    def getxattr(self, path, name, position=0):
        self.refuse_if_plain(errno.EOPNOTSUPP)
        return os.getxattr(self.at(path), name)

    def listxattr(self, path):
        self.refuse_if_plain(errno.EOPNOTSUPP)
        return os.listxattr(self.at(path))


mount(Refusing(sys.argv[1], sys.argv[2]), sys.argv[3])

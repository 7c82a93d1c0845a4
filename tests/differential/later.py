"""What happens to a case besides its runs: mounts, changes before a second run, files that grow meanwhile."""
import ctypes
import os
import random
import threading

CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 0x40000, 2
libc = ctypes.CDLL(None, use_errno=True)


def enter_mount_namespace():
    """Why this process cannot mount anything that others do not see; None: it can."""
    if os.geteuid() != 0:
        return "only root may mount"
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return "no mount namespace: " + os.strerror(ctypes.get_errno())
    return None


def mount(at):
    os.makedirs(at, exist_ok=True)
    if libc.mount(b"tmpfs", at, b"tmpfs", 0, b"size=4m") != 0:
        raise OSError(ctypes.get_errno(), "mount", at)


def unmount(at):
    libc.umount2(at, MNT_DETACH)


def files_of(tree, root):
    """Paths of regular files below `root`; each inode once."""
    seen = set()
    for path, node in sorted(tree.items()):
        at = os.path.join(root, path)
        if node.kind == "file" and os.path.isfile(at) and not os.path.islink(at):
            found = os.stat(at)
            if (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                yield at


def change_sources(seed, trees, roots, modes):
    """Changes the sources before another run. True: there is a file of which only the time or the mode changed."""
    rng = random.Random(f"{seed} later")
    touched = False
    for tree, root in zip(trees, roots):
        for at in list(files_of(tree, root)):
            roll = rng.random()
            # A time that no file of trees.py has.
            when = (1_600_000_000 + rng.randrange(1000)) * 10**9 + rng.choice([0, 1, 500_000_000])
            if roll < 0.2:  # it grew
                with open(at, "ab") as out:
                    out.write(b"a later line\n" * rng.randrange(1, 400))
            elif roll < 0.3:  # an editor replaced it: its other names keep the old file
                with open(at + b".edited", "wb") as out:
                    out.write(b"edited")
                os.rename(at + b".edited", at)
            elif roll < 0.5:
                touched = True
            elif roll < 0.6 and modes:
                os.chmod(at, rng.choice([0o600, 0o640, 0o755]))
                touched = True
                continue
            else:
                continue
            os.utime(at, ns=(when, when))
    return touched


class Growing:
    """Appends to a file while the block runs. `least` and `most`: its lengths before and after."""

    def __init__(self, at):
        self.at, self.over = at, threading.Event()
        self.thread = threading.Thread(target=self.grow)

    def grow(self):
        with open(self.at, "ab", buffering=0) as out:
            while not self.over.is_set():
                out.write(b"one more line\n" * 20)
                self.over.wait(0.0005)

    def __enter__(self):
        self.least = os.path.getsize(self.at)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.most = os.path.getsize(self.at)

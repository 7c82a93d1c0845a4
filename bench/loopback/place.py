"""Network between both ends: two namespaces with a veth pair, or one with its loopback device. Meters of processes."""
import os
import pathlib
import select
import subprocess
import threading
import time

import net

LOOPBACK_MTU = 65535


class Pair(net.Namespaces):
    """With LOOPBACK_MTU, both ends are in a and use lo. With another `mtu` up to 65,535, veth connects a and b."""

    def __init__(self, mtu):
        super().__init__()
        self.mtu = mtu

    def lay(self):
        if self.mtu == LOOPBACK_MTU:
            self.run(self.a, "ip", "link", "set", "lo", "mtu", str(LOOPBACK_MTU))
            for address in (net.A_ADDRESS, net.b_address(1)):
                self.run(self.a, "ip", "addr", "add", f"{address}/32", "dev", "lo")
            return
        near, far = f"{self.tag}a", f"{self.tag}b"
        net.ip("link", "add", near, "mtu", str(self.mtu), "netns", self.a, "type", "veth", "peer", "name", far, "mtu",
               str(self.mtu), "netns", self.b)
        self.address(self.a, near, [net.A_ADDRESS])
        self.address(self.b, far, [net.b_address(1)])

    def start(self, name, command, **options):
        where = self.a if self.mtu == LOOPBACK_MTU else name
        return Meter(super().start(where, command, **options))


def take_memory(directory, size):
    """Makes a virtual machine's host provide `size` bytes of memory, which files in `directory` can use from now on.

    A guest with free page reporting returns pages to the host that are free for two seconds. Their next use costs up to
    five times the copy itself. This cost belongs to the host and differs from run to run."""
    path = os.path.join(directory, "taken")
    block = bytes(1 << 20)
    room = os.statvfs(directory)
    size = min(size, room.f_bavail * room.f_frsize // 2)
    try:
        with open(path, "wb") as file:
            for _ in range(size // len(block)):
                file.write(block)
    except OSError:
        pass  # others have used the space: this transfer then pays for its memory itself
    finally:
        pathlib.Path(path).unlink(missing_ok=True)


class Meter:
    """A process with its CPU seconds and peak memory, including its descendants.

    The peak is the sum of the processes' VmHWM values. wait4() would include the memory of the process that forked.
    VmHWM is read often at first and then every 100 ms, as reading it costs CPU time of the measured processes."""

    def __init__(self, process):
        self.process, self.pid = process, process.pid
        self.cpu = None
        self.ended = None
        self.output = None
        self.peaks = {}
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()

    def watch(self):
        pause = 0.002
        while self.process.returncode is None:
            for pid in descendants(self.pid):
                self.peaks[pid] = max(memory(pid), self.peaks.get(pid, 0))
            time.sleep(pause)
            pause = min(1.5 * pause, 0.1)

    @property
    def peak(self):
        return sum(self.peaks.values())

    def poll(self):
        if self.process.returncode is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.ended = time.monotonic()
                self.cpu = usage.ru_utime + usage.ru_stime
                self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode

    def wait(self, seconds):
        """Returns the exit code, or None after `seconds`."""
        if self.poll() is None:
            pid = os.pidfd_open(self.pid)
            try:
                select.select([pid], [], [], seconds)
            finally:
                os.close(pid)
        return self.poll()

    def end(self):
        """Terminates the process, and kills it if it does not end."""
        if self.poll() is None:
            self.process.terminate()
            if self.wait(3.0) is None:
                self.process.kill()
                self.wait(3.0)


def descendants(pid):
    found = [pid]
    for parent in found:
        try:
            with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass
    return found


def memory(pid, what="VmHWM"):
    """Bytes of field `what`, by default the peak; 0 while the process is still a fork of this one."""
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().startswith("python"):
                return 0
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(f"{what}:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0

"""Two network namespaces with the emulated line between them, made and removed here."""
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

# All tools, ours and others: what else runs on the machine should not be measured, and TCP's work in the kernel is done
# at the emulator's priority anyway.
NICE = "-15"

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h

A_ADDRESS = "10.99.1.1"

# Per namespace. TCP must not be limited by its buffers: 8 BDP of queue at 500 Mbit/s x 200 ms are 100 MB.
SYSCTLS = {
    "net.ipv4.tcp_rmem": "4096 1048576 536870912",
    "net.ipv4.tcp_wmem": "4096 1048576 536870912",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv6.conf.all.disable_ipv6": "1",
}


def b_address(host):
    return f"10.99.2.{host}"


class Unavailable(Exception):
    """The machine lacks something; the text says what."""


def check_machine():
    """Raises Unavailable unless namespaces and TUN devices can be made here."""
    if os.geteuid() != 0:
        raise Unavailable("needs root for network namespaces and TUN devices")
    for program in ("ip", "sysctl"):
        if not shutil.which(program):
            raise Unavailable(f"needs {program} (Debian: iproute2, procps)")
    try:
        with open("/dev/net/tun", "r+b", buffering=0) as tun:
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", f"udtx{os.getpid()}".encode(), IFF_TUN | IFF_NO_PI))
    except OSError as error:
        raise Unavailable(f"cannot make a TUN device: {error}") from error
    remove_abandoned()
    try:
        with Namespaces():
            pass
    except (RuntimeError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"cannot set up a network namespace: {error}") from error


def ip(*args):
    done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(args)}: {done.stderr.strip()}")


# What we start ends with us, even when we die of a signal that nobody can handle. The program before it becomes it.
WITH_US = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


def remove_abandoned():
    """Namespaces of runs that were killed before they could remove them; their names have the process id."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    for name, pid in re.findall(r"^(w(\d+)x\d+-[abr])\b", listed, re.MULTILINE):
        if not os.path.exists(f"/proc/{pid}"):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def end(process, patience=3.0):
    """Asks a process that we started to end, then makes it."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


class Namespaces:
    """a and b, by names of their own; everything started in them ends with them."""
    count = 0

    def __init__(self):
        Namespaces.count += 1
        self.tag = f"w{os.getpid()}x{Namespaces.count}"
        self.a, self.b = f"{self.tag}-a", f"{self.tag}-b"
        self.processes = []
        self.made = []

    def __enter__(self):
        try:
            for name in (self.a, self.b):
                ip("netns", "add", name)
                self.made.append(name)
                for key, value in SYSCTLS.items():
                    self.run(name, "sysctl", "-qw", f"{key}={value}")
                ip("-n", name, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        for name in self.made:
            self.end_orphans(name)
            subprocess.run(["ip", "netns", "del", name], check=False)
        self.made = []

    @staticmethod
    def end_orphans(name):
        """Processes that ours have left behind in a namespace of ours (an ssh server's sessions)."""
        listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
        for pid in listed.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def run(self, name, *command):
        subprocess.run(["ip", "netns", "exec", name, *command], check=True, stdout=subprocess.DEVNULL)

    def start(self, name, command, **options):
        """`ip netns exec` and `nice` become the command, so its process id is the command's."""
        process = subprocess.Popen([*WITH_US, "ip", "netns", "exec", name, "nice", "-n", NICE, *command],
                                   stdin=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def address(self, name, device, addresses):
        for address in addresses:
            ip("-n", name, "addr", "add", f"{address}/32", "dev", device)
        ip("-n", name, "link", "set", device, "txqueuelen", "10000", "up")
        ip("-n", name, "route", "add", "default", "dev", device)


class EmulatedLine(Namespaces):
    """`line`: arguments of udtx-wan-emulator; `hosts`: addresses of side B."""

    def __init__(self, emulator, line, directory, hosts=1):
        super().__init__()
        self.command = [emulator, *line]
        self.hosts = hosts
        self.trace = os.path.join(directory, "line.csv")
        self.flows = os.path.join(directory, "flows.csv")
        self.emulator = None
        self.report = None

    def __enter__(self):
        super().__enter__()
        try:
            self.start_emulator()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_emulator(self):
        devices = {self.a: f"{self.tag}0", self.b: f"{self.tag}1"}
        self.emulator = subprocess.Popen(
            [*WITH_US, *self.command, "--tun-a", devices[self.a], "--tun-b", devices[self.b], "--trace", self.trace,
             "--flows", self.flows], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        if self.emulator.stdout.readline().strip() != "ready":
            self.end_emulator()
            raise RuntimeError("the emulator did not start")
        for name, device in devices.items():
            ip("link", "set", device, "netns", name)
        self.address(self.a, devices[self.a], [A_ADDRESS])
        self.address(self.b, devices[self.b], [b_address(host) for host in range(1, self.hosts + 1)])

    def stop_emulator(self):
        """Its closing report as a dictionary."""
        if self.emulator is not None:
            self.emulator.send_signal(signal.SIGTERM)
            try:
                text, _ = self.emulator.communicate(timeout=20)
                self.report = json.loads(text)
            except (subprocess.TimeoutExpired, ValueError) as error:
                raise RuntimeError("the emulator ended without its report") from error
            finally:
                self.end_emulator()
        return self.report

    def end_emulator(self):
        self.emulator.kill()
        self.emulator.wait()
        self.emulator = None

    def __exit__(self, *_):
        if self.emulator is not None:
            self.end_emulator()
        super().__exit__()


def wait_until(condition, seconds, what):
    """The condition's first true value."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise RuntimeError(f"{what} did not happen within {seconds:.0f} s")

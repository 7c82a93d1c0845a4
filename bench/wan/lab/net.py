"""Creates and removes two network namespaces with the emulated link between them."""
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

# Priority of all tools, udtx and others, so that other processes of the machine do not influence the results. TCP's
# work in the kernel runs at the emulator's priority anyway.
NICE = "-15"

# The emulator has one processor to itself, and everything else uses the others. The emulator is the link and not a part
# of the two ends. A thread on its processor would wait for milliseconds, in which a fast link becomes idle.
PROCESSORS = sorted(os.sched_getaffinity(0))

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h


def a_address(number):
    return f"10.99.1.{number}"


A_ADDRESS = a_address(1)

# Settings per namespace. Buffers must not limit TCP: 8 BDP of queue at 500 Mbit/s x 200 ms are 100 MB.
SYSCTLS = {
    "net.ipv4.tcp_rmem": "4096 1048576 536870912",
    "net.ipv4.tcp_wmem": "4096 1048576 536870912",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv6.conf.all.disable_ipv6": "1",
}


def b_address(host):
    return f"10.99.2.{host}"


class Unavailable(Exception):
    """The machine lacks something that the text names."""


def check_machine():
    """Raises Unavailable unless this process can create namespaces and TUN devices."""
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


# Prefix of commands: the kernel ends the started process with this one, also after SIGKILL. setpriv executes the
# command in its own process.
WITH_US = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


def remove_abandoned():
    """Removes namespaces of killed runs. Their names contain the process id of the run."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    for name, pid in re.findall(r"^(w(\d+)x\d+-[abr])\b", listed, re.MULTILINE):
        if not os.path.exists(f"/proc/{pid}"):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def work_directory(parent):
    """Creates a directory for one run's files. Its name contains the process id, so that directories of killed runs are
    recognised and removed."""
    os.makedirs(parent, exist_ok=True)
    for name in os.listdir(parent):
        owner = re.match(r"udtx-bench\.(\d+)\.", name)
        if owner and not os.path.exists(f"/proc/{owner[1]}"):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=f"udtx-bench.{os.getpid()}.", dir=parent)


def end(process, patience=3.0):
    """Interrupts a process that this program started, and kills it after `patience` seconds."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


class Namespaces:
    """The namespaces a and b, with unique names. Processes started in them end with them."""
    count = 0
    nice = NICE  # priority of all processes in them

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
            self.lay()
        except BaseException:
            self.__exit__()
            raise
        return self

    def lay(self):
        """Builds the network between a and b."""

    def __exit__(self, *_):
        for process in reversed(self.processes):
            end(process)
        for name in self.made:
            self.end_orphans(name)
            subprocess.run(["ip", "netns", "del", name], check=False)
        self.made = []

    @staticmethod
    def end_orphans(name):
        """Kills processes that are left in one of these namespaces, such as an ssh server's sessions."""
        listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
        for pid in listed.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def run(self, name, *command):
        subprocess.run(["ip", "netns", "exec", name, *command], check=True, stdout=subprocess.DEVNULL)

    def start(self, name, command, **options):
        """Starts a command in a namespace. `ip netns exec` and `nice` exec it, so that the process id is the
        command's."""
        process = subprocess.Popen([*WITH_US, "ip", "netns", "exec", name, "nice", "-n", self.nice, *command],
                                   stdin=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def wait_for_start(self):
        """Is called when the receiver is ready, before the sender starts."""

    def address(self, name, device, addresses):
        for address in addresses:
            ip("-n", name, "addr", "add", f"{address}/32", "dev", device)
        ip("-n", name, "link", "set", device, "txqueuelen", "10000", "up")
        ip("-n", name, "route", "add", "default", "dev", device)


class Emulator:
    """A running udtx-wan-emulator. Its two devices are created in this namespace; the caller moves them."""

    def __init__(self, program, line, devices, trace, flows):
        self.trace, self.flows = trace, flows
        self.report = None
        self.process = subprocess.Popen(
            [*WITH_US, program, *line, "--tun-a", devices[0], "--tun-b", devices[1], "--trace", trace, "--flows", flows],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        if self.process.stdout.readline().strip() != "ready":
            self.end()
            raise RuntimeError("the emulator did not start")
        self.began = time.monotonic()  # a few milliseconds after the emulator's own time zero

    def stop(self):
        """Stops the emulator and returns its final report as a dictionary."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                text, _ = self.process.communicate(timeout=20)
                self.report = json.loads(text)
            except (subprocess.TimeoutExpired, ValueError) as error:
                raise RuntimeError("the emulator ended without its report") from error
            finally:
                self.end()
        return self.report

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class EmulatedLine(Namespaces):
    """Namespaces with an emulated link. `line`: arguments of udtx-wan-emulator; `hosts`: number of addresses in b."""

    def __init__(self, emulator, line, directory, hosts=1):
        super().__init__()
        self.program, self.line = emulator, line
        self.hosts = hosts
        self.trace = os.path.join(directory, "line.csv")
        self.flows = os.path.join(directory, "flows.csv")
        self.emulator = None

    def lay(self):
        devices = {self.a: f"{self.tag}0", self.b: f"{self.tag}1"}
        self.emulator = Emulator(self.program, self.line, list(devices.values()), self.trace, self.flows)
        if len(PROCESSORS) > 1:
            os.sched_setaffinity(self.emulator.process.pid, PROCESSORS[:1])
            os.sched_setaffinity(0, PROCESSORS[1:])
        for name, device in devices.items():
            ip("link", "set", device, "netns", name)
        self.address(self.a, devices[self.a], [A_ADDRESS])
        self.address(self.b, devices[self.b], [b_address(host) for host in range(1, self.hosts + 1)])

    def stop_emulator(self):
        return self.emulator.stop()

    def __exit__(self, *_):
        if self.emulator is not None:
            self.emulator.end()
            os.sched_setaffinity(0, PROCESSORS)
        super().__exit__()


def wait_until(condition, seconds, what):
    """Polls the condition and returns its first true value. Raises RuntimeError after `seconds`."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise RuntimeError(f"{what} did not happen within {seconds:.0f} s")

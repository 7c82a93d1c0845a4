"""The compared tools, all with the same interface.

A tool moves one file, or for iperf3 as many bytes, from namespace a to a host in namespace b. The arrived bytes are the
receiving process's count of written bytes (/proc/PID/io, wchar). This measure is the same for all tools and does not
include headers, retransmissions and encryption. iperf3 therefore writes to /dev/null.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import net

PORT = 7011
COPY = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tcp_copy.py")]


class Flow:
    """A running transfer: the sender and receiver processes, the receiver's samples, and the start time."""

    def __init__(self, tool, host):
        self.tool, self.host = tool, host
        self.sender = self.receiver = None
        self.samples = []
        self.began = self.ended = None
        self.output = None  # path of the sender's standard output

    def stop(self):
        """Ends both processes and returns the sender's JSON; empty if it printed none."""
        for process in (self.sender, self.receiver):
            net.end(process)
        try:
            with open(self.output, encoding="utf-8", errors="replace") as file:
                return json.loads(file.read())
        except (OSError, ValueError, TypeError):
            return {}

    def complaint(self):
        """The last line that the sender wrote to its standard error."""
        with open(self.output + ".err", encoding="utf-8", errors="replace") as file:
            return f"{self.tool.name}: " + (file.read().strip().splitlines() or ["no word of why"])[-1]


class Tool:
    name = ""
    is_ours = False

    def __init__(self, bench):
        self.bench = bench

    def missing(self):
        """Why the tool cannot run here; None if it can."""
        return None

    def prepare(self, cell):
        """Is called before each start on a link with one flow, for tools that need the link's parameters."""

    def receiver(self, out, host, size):
        raise NotImplementedError

    def sender(self, source, host, seconds, size):
        raise NotImplementedError

    def listens(self, log, process):
        """True if the receiver is ready."""
        raise NotImplementedError

    def empty_directory(self, host):
        out = os.path.join(self.bench.work, f"out-{host}")
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)
        return out

    def start(self, line, sampler, source, seconds, size=None, host=1):
        flow = Flow(self, host)
        out = self.empty_directory(host)
        log = os.path.join(self.bench.work, f"receiver-{host}.log")
        with open(log, "wb") as file:
            flow.receiver = line.start(line.b, self.receiver(out, host, size), stdout=file, stderr=file)
        net.wait_until(lambda: self.listens(log, flow.receiver), 10, f"{self.name}'s receiver")
        flow.samples = sampler.watch(flow.receiver)
        flow.output = os.path.join(self.bench.work, f"sender-{host}.out")
        line.wait_for_start()
        flow.began = time.monotonic()
        with open(flow.output, "wb") as file, open(flow.output + ".err", "wb") as errors:
            flow.sender = line.start(line.a, self.sender(source, host, seconds, size), stdout=file, stderr=errors)
        return flow

    def start_fetching(self, line, sampler, host, server_command, client_command, ready):
        """Starts a tool whose receiver fetches: the server runs in a; the client in b counts as sender and receiver."""
        flow = Flow(self, host)
        log = os.path.join(self.bench.work, f"server-{host}.log")
        with open(log, "wb") as file:
            server = line.start(line.a, server_command, stdout=file, stderr=file)
        net.wait_until(lambda: server.poll() is not None or ready(log, server), 10, f"{self.name}'s server")
        if server.poll() is not None:
            with open(log, encoding="utf-8", errors="replace") as file:
                raise RuntimeError(f"{self.name}'s server: {file.read().strip()}")
        flow.output = os.path.join(self.bench.work, f"sender-{host}.out")
        line.wait_for_start()
        flow.began = time.monotonic()
        with open(flow.output, "wb") as file, open(flow.output + ".err", "wb") as errors:
            flow.sender = flow.receiver = line.start(line.b, client_command, stdout=file, stderr=errors)
        flow.samples = sampler.watch(flow.receiver)
        return flow


def said(log, text):
    with open(log, "rb") as file:
        return text in file.read()


def udp_port_open(process):
    """True if a UDP socket is bound to PORT in the process's namespace."""
    with open(f"/proc/{process.pid}/net/udp", encoding="ascii") as file:
        return any(f":{PORT:04X} " in row for row in file)


class Udtx(Tool):
    is_ours = True

    def __init__(self, bench, controller=None, options=(), at_receiver=()):
        super().__init__(bench)
        self.at_receiver, self.controller = list(at_receiver), controller
        self.name = f"udtx:{controller}" if controller else "udtx"
        if options:
            self.name += " " + " ".join(options)
        self.options = (["--cc", controller] if controller else []) + list(options)

    def binary(self, name):
        return os.path.join(self.bench.build, "apps", name)

    def missing(self):
        send = self.binary("udtx-send")
        if not os.access(send, os.X_OK):
            return f"not built: {send}"
        known = self.help(send)
        lacking = [option for option in self.options if option.startswith("--") and option not in known]
        if lacking:
            return f"udtx-send has no {lacking[0]}"
        controllers = re.search(r"--cc (\S+)", known)[1].split("|")
        if self.controller and self.controller not in controllers:
            return f"udtx-send has no controller {self.controller} ({', '.join(controllers)})"
        return None

    @staticmethod
    def help(send):
        """The help text with all options. Builds before --help-all show all of them with --help."""
        texts = (subprocess.run([send, flag], capture_output=True, text=True, check=False).stdout for flag in ("--help-all", "--help"))
        return next((text for text in texts if "--cc" in text), "--cc none")

    def receiver(self, out, host, size):
        return [self.binary("udtx-recv"), "--listen", f"{net.b_address(host)}:{PORT}", "--dir", out, "--one-off",
                "--psk-file", self.bench.key(), *self.at_receiver]

    def sender(self, source, host, seconds, size):
        return [self.binary("udtx-send"), "--json", "-q", "--psk-file", self.bench.key(), *self.options, source,
                f"udtx://{net.b_address(host)}:{PORT}/"]

    def listens(self, log, process):
        return said(log, b"listening on")


class Tcp(Tool):
    """TCP: iperf3 for a steady stream, tcp_copy.py for a file."""

    def __init__(self, bench, controller):
        super().__init__(bench)
        self.name = self.controller = controller

    def missing(self):
        if not shutil.which("iperf3"):
            return "needs iperf3 (Debian: iperf3)"
        with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
            known = self.controller in file.read().split()
        return None if known else f"this kernel has no TCP {self.controller}"

    def receiver(self, out, host, size):
        if size:
            return [*COPY, "recv", net.b_address(host), str(PORT), os.path.join(out, "file")]
        return ["iperf3", "-s", "-1", "--forceflush", "-B", net.b_address(host), "-F", "/dev/null"]

    def sender(self, source, host, seconds, size):
        if size:
            return [*COPY, "send", net.b_address(host), str(PORT), source, self.controller]
        return ["iperf3", "-c", net.b_address(host), "-C", self.controller, "-J", "-t", str(int(seconds) + 5)]

    def listens(self, log, process):
        return said(log, b"Server listening") or said(log, b"ready")


class Udt4(Tool):
    name = "udt4"

    def binary(self):
        return os.path.join(self.bench.build, "bench/wan/udt4-copy")

    def missing(self):
        return None if os.access(self.binary(), os.X_OK) else "needs libudt-dev at build time"

    def receiver(self, out, host, size):
        return [self.binary(), "recv", str(PORT), os.path.join(out, "file")]

    def sender(self, source, host, seconds, size):
        return [self.binary(), "send", net.b_address(host), str(PORT), source]

    def listens(self, log, process):
        return said(log, b"ready")


class Srt(Tool):
    name = "srt"
    # Buffers in bytes, fc in packets. The defaults of 12 MB and 25,600 packets would limit SRT at 500 Mbit/s x 200 ms.
    BUFFERS = "transtype=file&sndbuf=256000000&rcvbuf=256000000&fc=200000"

    def missing(self):
        return None if shutil.which("srt-file-transmit") else "needs srt-file-transmit (Debian: srt-tools)"

    def receiver(self, out, host, size):
        return ["srt-file-transmit", "-q", f"srt://{net.b_address(host)}:{PORT}?mode=listener&{self.BUFFERS}",
                f"file://{out}/file"]

    def sender(self, source, host, seconds, size):
        return ["srt-file-transmit", "-q", f"file://{source}", f"srt://{net.b_address(host)}:{PORT}?{self.BUFFERS}"]

    def listens(self, log, process):
        return udp_port_open(process)


class OverSsh(Tool):
    """A tool that starts its far end through ssh. It gets its own ssh server and a new key."""
    SSH_PORT = 7012

    def program(self, name, *more):
        return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *more]))

    def missing(self):
        if not self.program("sshd", "/usr/sbin") or not self.program("ssh"):
            return "needs an ssh server and client (Debian: openssh-server, openssh-client)"
        return None

    def ssh_key(self):
        path = os.path.join(self.bench.work, "ssh-key")
        if not os.path.exists(path):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
        return path

    def server(self, address):
        key = self.ssh_key()
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd needs it
        # An empty home directory: the account's ~/.bashrc may take a third of a second (pyenv), which would be measured.
        home = os.path.join(self.bench.work, "home")
        os.makedirs(home, exist_ok=True)
        options = [f"ListenAddress={address}:{self.SSH_PORT}", f"HostKey={key}", f"AuthorizedKeysFile={key}.pub",
                   "StrictModes=no", "PermitRootLogin=prohibit-password", "PidFile=none", "Subsystem=sftp internal-sftp",
                   f"SetEnv=HOME={home}"]
        return [self.program("sshd", "/usr/sbin"), "-D", "-e", "-f", "/dev/null",
                *(word for option in options for word in ("-o", option))]

    def ssh_options(self):
        return ["-F", "/dev/null", "-p", str(self.SSH_PORT), "-i", self.ssh_key(), "-o", "StrictHostKeyChecking=no", "-o",
                "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]

    def client(self, source, out):
        raise NotImplementedError

    def start(self, line, sampler, source, seconds, size=None, host=1):
        return self.start_fetching(line, sampler, host, self.server(net.A_ADDRESS),
                                   self.client(source, self.empty_directory(host)),
                                   lambda log, server: said(log, b"listening"))


class UdtxSsh(OverSsh):
    """All of udtx-recv HOST:SRC from a cold start, including ssh's handshake. ssh starts the sender in namespace a."""
    name = "udtx-ssh"

    def program(self, name, *more):
        return super().program(name, *more, os.path.join(self.bench.build, "apps"))

    def missing(self):
        return super().missing() if self.program("udtx-recv") else f"not built: {self.bench.build}/apps/udtx-recv"

    def client(self, source, out):
        return [self.program("udtx-recv"), "-q", "--ssh", shlex.join(["ssh", *self.ssh_options()]), "--remote-bin",
                self.program("udtx-send"), f"root@{net.A_ADDRESS}:{source}", os.path.join(out, "file")]


class UdtxSshChannel(UdtxSsh):
    """The same with all data in the connection of ssh, as where UDP does not pass."""
    name = "udtx-ssh-channel"

    def client(self, source, out):
        first, *rest = super().client(source, out)
        return [first, "--transport", "ssh", *rest]


class Scp(OverSsh):
    name = "scp"

    def client(self, source, out):
        options = ["-P" if word == "-p" else word for word in self.ssh_options()]
        return [self.program("scp"), "-q", *options, f"root@{net.A_ADDRESS}:{source}", os.path.join(out, "file")]


class Qcp(OverSsh):
    """QUIC (quinn) with BBR. The ssh server runs in namespace a, and the client in b fetches the file."""
    name = "qcp"
    tuning = ("--congestion", "bbr")

    # qcp derives its windows from these options. Much larger windows end with "too many gaps in stream buffer".
    def prepare(self, cell):
        rate = str(int(cell.rate * 1e6 / 8))
        self.tuning = ["--congestion", "bbr", "--rx", rate, "--tx", rate, "--rtt", str(int(cell.rtt))]

    def missing(self):
        if not self.program("qcp", os.path.expanduser("~/.cargo/bin")):
            return "needs qcp (cargo install --locked qcp)"
        return super().missing()

    def client(self, source, out):
        qcp = self.program("qcp", os.path.expanduser("~/.cargo/bin"))
        return [qcp, "-q", *self.tuning, "--ssh-config", "/dev/null", "--remote-qcp-binary", qcp,
                *(word for option in self.ssh_options() for word in ("-S", option)), f"root@{net.A_ADDRESS}:{source}",
                os.path.join(out, "file")]


def make(name, bench):
    """Makes the tool of this name: udtx, udtx:CONTROLLER, udtx-tcp, bbr, cubic, udt4, srt, qcp, scp, udtx-ssh or
    udtx-ssh-channel."""
    if name == "udtx":
        return Udtx(bench)
    if name == "udtx-tcp":
        return Udtx(bench, options=("--transport", "tcp"))
    if name.startswith("udtx:"):
        return Udtx(bench, name[5:])
    if name in ("bbr", "cubic"):
        return Tcp(bench, name)
    others = {"udt4": Udt4, "srt": Srt, "qcp": Qcp, "scp": Scp, "udtx-ssh": UdtxSsh,
              "udtx-ssh-channel": UdtxSshChannel}
    if name in others:
        return others[name](bench)
    raise SystemExit(f"no such tool: {name} (udtx, udtx:CONTROLLER, bbr, cubic, {', '.join(others)})")


class Bench:
    """What all runs of a benchmark share: the built programs, the work directory, the key and the source file."""

    def __init__(self, build, work):
        self.build, self.work = build, work
        self.emulator = os.path.join(build, "bench/wan/udtx-wan-emulator")
        self.sources = {}

    def key(self):
        path = os.path.join(self.work, "key")
        if not os.path.exists(path):
            subprocess.run([os.path.join(self.build, "apps/udtx-send"), "keygen", path], check=True,
                           capture_output=True)
        return path

    def source(self, size):
        """Path of a file of `size` bytes: 64 MiB of random bytes, repeated."""
        if size not in self.sources:
            for path in self.sources.values():
                os.unlink(path)
            self.sources.clear()
            block = os.urandom(64 << 20)
            path = os.path.join(self.work, f"source-{size}")
            with open(path, "wb") as file:
                for begin in range(0, size, len(block)):
                    file.write(block[:min(len(block), size - begin)])
            self.sources[size] = path
        return self.sources[size]

    def usable(self, names):
        """The tools that can run here. Prints which are skipped and why."""
        tools = []
        for name in names:
            tool = make(name, self)
            why = tool.missing()
            if why:
                print(f"skipped: {name}: {why}", flush=True)
            else:
                tools.append(tool)
        if not tools:
            raise RuntimeError("none of these tools can run here")
        return tools

"""More compared programs: QUIC libraries (peers/), udtx from memory to memory, croc, xrdcp. And a background load."""
import os
import shutil
import subprocess
import time

import net
import tools
from entrants import Entrant, Finished, check_arrived, expect

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
# Makes name server queries fail at once instead of after seconds. `ip netns exec` gives a process its own mounts.
WITHOUT_NAMES = ["sh", "-c", 'mount --bind /dev/null /etc/resolv.conf && exec "$@"', "sh"]


class Pair(tools.Tool):
    """A program with the commands `recv` and `send`. It prints "ready", and "BYTES SECONDS" at the end."""
    memory = True

    def receiver(self, out, host, size):
        return [self.program, "recv", net.b_address(host), str(tools.PORT), *self.receiver_options(out)]

    def sender(self, source, host, seconds, size):
        return [self.program, "send", net.b_address(host), str(tools.PORT), *self.sender_options(source, size)]

    def listens(self, log, process):
        return tools.said(log, b"ready")


class Quic(Pair):
    """The program of peers/ that uses `library`."""
    PACKETS = (1500, 9000, 16000, 32000)  # sizes that choose_packets() tries in addition to the interface's MTU
    packet = 1500  # bytes with the IP header

    def __init__(self, bench, library, memory, largest=65_535):
        super().__init__(bench)
        self.name, self.memory, self.largest = library, memory, largest
        self.program = os.path.join(PEERS, f"target/release/peer-{library}")

    def packets(self, mtu):
        return sorted({size for size in (*self.PACKETS, mtu) if size <= min(mtu, self.largest)})

    def missing(self):
        return None if os.access(self.program, os.X_OK) else "not built: bench/loopback/peers/build"

    def receiver_options(self, out):
        return ["--mtu", str(self.packet), *([] if self.memory else ["--out", os.path.join(out, "file")])]

    def sender_options(self, source, size):
        return ["--mtu", str(self.packet), *(["--bytes", str(size)] if self.memory else ["--file", source])]


class OurMemory(Pair):
    """One udtx stream, with chunks or with copies."""
    is_ours = True

    def __init__(self, bench, options):
        super().__init__(bench)
        self.name, self.options = " ".join(["udtx", *options]), list(options)
        self.program = os.path.join(bench.build, "bench/loopback/udtx-memory")

    def missing(self):
        return None if os.access(self.program, os.X_OK) else f"not built: {self.program}"

    def receiver_options(self, out):
        return self.options

    def sender_options(self, source, size):
        return [str(size), *self.options]


class Between(Entrant):
    """A pair of programs. From memory to memory, the receiver measures the rate, from the first byte to the last."""

    def __init__(self, tool, only=None):
        super().__init__(f"{tool.name} memory" if tool.memory else tool.name, tool, only=only)

    def choose_packets(self, make_line, mtu, source, size):
        """Makes the fastest packet size, by the best of two runs each, the setting of a QUIC peer. Returns a report."""
        if not isinstance(self.tool, Quic):
            return None
        rates, failures = {}, {}
        for packet in self.tool.packets(mtu):
            self.tool.packet = packet
            try:
                for _ in range(2):
                    with make_line(mtu) as line:
                        rates[packet] = max(rates.get(packet, 0), self.run(line, source, size).goodput)
            except RuntimeError as error:
                failures[packet] = str(error)
        self.tool.packet = max(rates, key=rates.get, default=min(mtu, self.tool.largest))
        tried = [f"{packet}: {rate / 1e9:.2f}" for packet, rate in rates.items()]
        return f"{self.name}, Gbit/s by packet size: {', '.join(tried + [f'{p}: {why}' for p, why in failures.items()])}"

    def check(self, out, size):
        if not self.tool.memory:
            check_arrived(out, size)
        elif self.counted()[0] != size:
            raise RuntimeError(f"{self.counted()[0]:.0f} of {size} bytes arrived")

    def counted(self):
        with open(self.logs()[1], encoding="utf-8") as file:
            return [float(word) for word in file.read().strip().splitlines()[-1].split()]

    def judge(self, figures, send_log):
        if self.tool.memory:
            size, seconds = self.counted()
            figures.goodput = 8 * size / seconds
        if isinstance(self.tool, Quic):
            figures.note = f"packets of {self.tool.packet}"
        return figures


class TcpFile(tools.Tool):
    """nc over TCP, which neither encrypts, verifies nor flushes."""
    name = "TCP by nc"

    def missing(self):
        return None if shutil.which("nc") else "needs nc (Debian: netcat-openbsd)"

    def receiver(self, out, host, size):
        return ["sh", "-c", f"exec nc -l {net.b_address(host)} {tools.PORT} > {out}/file"]

    def sender(self, source, host, seconds, size):
        return ["sh", "-c", f"exec nc -N {net.b_address(host)} {tools.PORT} < {source}"]

    def listens(self, log, process):
        return tcp_port_open(process)


def tcp_port_open(process):
    """Whether a TCP socket listens in the network namespace of the process."""
    with open(f"/proc/{process.pid}/net/tcp", encoding="ascii") as file:
        return any(line.split()[1].endswith(f":{tools.PORT:04X}") and line.split()[3] == "0A" for line in file.readlines()[1:])


class CrocTool(tools.Tool):
    name = "croc"

    def program(self):
        return shutil.which("croc", path=os.pathsep.join([os.environ.get("PATH", ""), os.path.expanduser("~/go/bin")]))

    def missing(self):
        return None if self.program() else "needs croc (go install github.com/schollz/croc/v10@latest)"

    def client(self, *words):
        return [*WITHOUT_NAMES, self.program(), "--yes", "--overwrite", "--no-compress", "--disable-clipboard",
                "--ignore-stdin", "--relay", f"{net.b_address(1)}:9009", *words]

    def relay(self):
        ports = ",".join(str(9009 + i) for i in range(5))
        return [*WITHOUT_NAMES, self.program(), "relay", "--host", net.b_address(1), "--ports", ports]


class Croc(Entrant):
    """croc over TCP with its own relay next to the receiver; the relay's costs count. The sender starts first."""

    def __init__(self, bench):
        home = os.path.join(bench.work, "croc")
        super().__init__("croc", CrocTool(bench), slow=True,
                         environment={"HOME": home, "CROC_SECRET": "1234-one-two-three", "CROC_PASS": "pass"})
        self.home = home

    def run(self, line, source, size):
        os.makedirs(self.home, exist_ok=True)
        out = self.tool.empty_directory(1)
        send_log, recv_log = self.logs()
        relay = self.spawn(line, line.b, self.tool.relay(), os.path.join(self.tool.bench.work, "relay.log"))
        sender = receiver = None
        try:
            time.sleep(0.5)  # the relay prints nothing when it listens
            sender = self.spawn(line, line.a, self.tool.client("send", "--no-local", source), send_log)
            net.wait_until(lambda: tools.said(send_log, b"On the other computer"), 10, "croc's sender")
            began = time.monotonic()
            receiver = self.spawn(line, line.b, self.tool.client("--out", out), recv_log)
            expect(receiver, "receiver", recv_log)
            expect(sender, "sender", send_log)
        finally:
            for process in (relay, sender, receiver):
                if process:
                    process.end()
        check_arrived(out, size)
        figures = Finished(size, began, sender, receiver, receiver.ended).figures
        figures.cpu = (figures.cpu[0], figures.cpu[1] + 1e9 * relay.cpu / size)
        figures.note = "over TCP"
        return figures


class XrdTool(tools.Tool):
    name = "xrdcp"
    USER = "nobody"  # the server refuses to run as root

    def missing(self):
        if shutil.which("xrdcp") and shutil.which("xrootd"):
            return None
        return "needs xrootd and xrdcp (Debian: xrootd-server, xrootd-client)"

    def server(self, out):
        """The server's command. Makes the server's user the owner of `out`."""
        own = os.path.join(self.bench.work, "xrootd")
        os.makedirs(own, exist_ok=True)
        os.chmod(self.bench.work, 0o711)
        for path in (own, out):
            shutil.chown(path, self.USER)
        configuration = os.path.join(self.bench.work, "xrootd.cf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(f"xrd.port {tools.PORT}\nxrd.network nodnr\nall.export {out}\nall.adminpath {own}\n"
                       f"all.pidpath {own}\nxrd.allow host *\n")
        return [*WITHOUT_NAMES, "xrootd", "-R", self.USER, "-c", configuration]

    def client(self, source, out):
        return [*WITHOUT_NAMES, "xrdcp", "-s", "-f", source, f"root://{net.b_address(1)}:{tools.PORT}/{out}/file"]


class Xrdcp(Entrant):
    """xrdcp over TCP, without encryption."""

    def __init__(self, bench):
        super().__init__("xrdcp", XrdTool(bench))

    def run(self, line, source, size):
        out = self.tool.empty_directory(1)
        client_log, server_log = self.logs()
        server = self.spawn(line, line.b, self.tool.server(out), server_log)
        try:
            net.wait_until(lambda: tools.said(server_log, b"initialization completed"), 10, "xrootd")
            began = time.monotonic()
            client = self.spawn(line, line.a, self.tool.client(source, out), client_log)
            expect(client, "client", client_log)
        finally:
            server.end()
        check_arrived(out, size)
        figures = Finished(size, began, client, server, client.ended).figures
        figures.note = "over TCP, not encrypted"
        return figures


def of_files(bench):
    return [Between(Quic(bench, "quinn", False)), Between(Quic(bench, "s2n-quic", False)),
            Between(Quic(bench, "msquic", False, largest=1500)), Croc(bench), Xrdcp(bench),
            Entrant("TCP by nc", TcpFile(bench), confirmed=False)]


def of_memory(bench):
    return [Between(OurMemory(bench, ())), Between(OurMemory(bench, ("--copy",))), Between(Quic(bench, "quinn", True)),
            Between(Quic(bench, "s2n-quic", True)), Between(Quic(bench, "msquic", True, largest=1500))]


class Load:
    """A context manager that runs a busy loop on each core at the tools' priority. If `on` is false, it does nothing.

    Each loop ends with this process, and after LONGEST by itself."""
    LONGEST = 600  # seconds

    def __init__(self, on):
        self.on = on
        self.processes = []

    def __enter__(self):
        for core in net.PROCESSORS if self.on else ():
            loop = (f"import os, time\nos.sched_setaffinity(0, [{core}])\nend = time.monotonic() + {self.LONGEST}\n"
                    "while time.monotonic() < end: pass")
            self.processes.append(subprocess.Popen([*net.WITH_US, "nice", "-n", net.NICE, "python3", "-c", loop]))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

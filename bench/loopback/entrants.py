"""The compared programs. Each has run(line, ...), which returns Figures or raises an exception with the reason."""
import json
import os
import subprocess
import time
from dataclasses import dataclass
from types import SimpleNamespace

import net
import tools
from place import LOOPBACK_MTU, take_memory

LONGEST_RUN = 60.0  # seconds
IP_AND_UDP = 28
LARGEST_DATAGRAM = 65_000
# Hides AES-NI and PCLMULQDQ from OpenSSL (OPENSSL_ia32cap(3)). An end that measures its ciphers then picks ChaCha20.
WITHOUT_AES = {"OPENSSL_ia32cap": "~0x200000200000000"}
CIPHERS = {"aes": "aes-256-gcm", "chacha": "chacha20-poly1305"}


@dataclass
class Figures:
    goodput: float  # bits per second
    cpu: tuple  # CPU seconds per GB of sender and receiver
    rss: tuple  # bytes of sender and receiver
    note: str = ""


class Finished:
    """A finished transfer; both processes have ended. `until` is the time when the transfer counts as done."""

    def __init__(self, size, began, sender, receiver, until):
        self.figures = Figures(8 * size / (until - began), (1e9 * sender.cpu / size, 1e9 * receiver.cpu / size),
                               (sender.peak, receiver.peak))


def expect(process, what, log):
    """Waits for the process and raises RuntimeError unless it ended with 0."""
    code = process.wait(LONGEST_RUN)
    if code != 0:
        process.end()
        with open(log, encoding="utf-8", errors="replace") as file:
            last = (file.read().strip().splitlines() or [""])[-1]
        raise RuntimeError(f"{what} {'took too long' if code is None else f'ended with {code}'}: {last[:200]}")


class Entrant:
    """A tool of bench/wan that moves a file. `slow`: it gets the shorter file."""

    def __init__(self, name, tool, slow=False, confirmed=True, only=None, environment=None):
        self.name, self.tool, self.slow, self.only = name, tool, slow, only
        self.confirmed = confirmed  # true: when the sender ends, the receiver has the whole file
        self.environment = {**os.environ, **(environment or {})}

    def missing(self, mtu):
        if self.only and mtu not in self.only:
            return f"sends packets of {' or '.join(map(str, self.only))} bytes only"
        return self.tool.missing()

    def spawn(self, line, name, command, log):
        with open(log, "wb") as file:
            return line.start(name, command, stdout=file, stderr=file, env=self.environment)

    def logs(self):
        return [os.path.join(self.tool.bench.work, f"{end}.log") for end in ("sender", "receiver")]

    def run(self, line, source, size):
        out = self.tool.empty_directory(1)
        take_memory(self.tool.bench.work, 2 * size)
        send_log, recv_log = self.logs()
        receiver = self.spawn(line, line.b, self.tool.receiver(out, 1, size), recv_log)
        net.wait_until(lambda: self.tool.listens(recv_log, receiver), 10, f"{self.name}'s receiver")
        began = time.monotonic()
        sender = self.spawn(line, line.a, self.tool.sender(source, 1, 0, size), send_log)
        try:
            expect(sender, "sender", send_log)
            expect(receiver, "receiver", recv_log)
        finally:
            sender.end()
            receiver.end()
        self.check(out, size)
        until = sender.ended if self.confirmed else max(sender.ended, receiver.ended)
        return self.judge(Finished(size, began, sender, receiver, until).figures, send_log)

    def choose_packets(self, make_line, mtu, source, size):
        """Chooses the fastest setting. Most programs have one."""

    def check(self, out, size):
        check_arrived(out, size)

    def judge(self, figures, send_log):
        return figures


def check_arrived(out, size):
    arrived = sum(os.path.getsize(os.path.join(out, name)) for name in os.listdir(out))
    if arrived != size:
        raise RuntimeError(f"{arrived} of {size} bytes arrived")


class Ours(Entrant):
    def __init__(self, bench, cipher, options=()):
        super().__init__(" ".join(["udtx", cipher, *options]), tools.Udtx(bench, options=options, at_receiver=options),
                         environment=WITHOUT_AES if cipher == "chacha" else None)
        self.cipher = cipher

    def judge(self, figures, send_log):
        said = last_json(send_log)
        if said.get("cipher") != CIPHERS[self.cipher]:
            raise RuntimeError(f"took {said.get('cipher')}")
        figures.note = f"datagrams of {said.get('datagram_bytes')}"
        return figures


def last_json(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in reversed(file.read().strip().splitlines()):
            if line.startswith("{"):
                return json.loads(line)
    return {}


class Iperf(Entrant):
    """TCP from memory to memory, without encryption."""

    def __init__(self, bench):
        super().__init__("TCP memory", tools.Tcp(bench, "cubic"))

    def run(self, line, source, size):
        send_log, recv_log = self.logs()
        receiver = self.spawn(line, line.b, ["iperf3", "-s", "-1", "--forceflush", "-B", net.b_address(1)], recv_log)
        net.wait_until(lambda: tools.said(recv_log, b"Server listening"), 10, "iperf3's server")
        sender = self.spawn(line, line.a, ["iperf3", "-c", net.b_address(1), "-J", "-n", str(size)], send_log)
        expect(sender, "sender", send_log)
        expect(receiver, "receiver", recv_log)
        with open(send_log, encoding="utf-8") as file:
            received = json.load(file)["end"]["sum_received"]
        figures = Finished(received["bytes"], 0.0, sender, receiver, 1.0).figures
        figures.goodput = received["bits_per_second"]
        figures.note = "iperf3, not encrypted"
        return figures


class Fetching(Entrant):
    """qcp: the client in b fetches from an ssh server in a."""

    def run(self, line, source, size):
        self.tool.prepare(SimpleNamespace(rate=10_000, rtt=1))
        out = self.tool.empty_directory(1)
        server_log, client_log = self.logs()
        server = self.spawn(line, line.a, self.tool.server(net.A_ADDRESS), server_log)
        try:
            net.wait_until(lambda: tools.said(server_log, b"listening"), 10, "the ssh server")
            began = time.monotonic()
            client = self.spawn(line, line.b, self.tool.client(source, out), client_log)
            expect(client, "client", client_log)
            time.sleep(0.3)  # until the server's sessions have ended, so that their CPU time is counted
        finally:
            server.end()
        check_arrived(out, size)
        return Finished(size, began, server, client, client.ended).figures


class RsyncTool(tools.OverSsh):
    name = "rsync"

    def missing(self):
        return super().missing() if self.program("rsync") else "needs rsync"

    def client(self, source, out):
        return ["rsync", "--whole-file", "-e", " ".join(["ssh", *self.ssh_options()]), source,
                f"root@{net.b_address(1)}:{out}/file"]


class Rsync(Entrant):
    def __init__(self, bench):
        super().__init__("rsync over ssh", RsyncTool(bench))

    def run(self, line, source, size):
        out = self.tool.empty_directory(1)
        client_log, server_log = self.logs()
        server = self.spawn(line, line.b, self.tool.server(net.b_address(1)), server_log)
        try:
            net.wait_until(lambda: tools.said(server_log, b"listening"), 10, "the ssh server")
            began = time.monotonic()
            client = self.spawn(line, line.a, self.tool.client(source, out), client_log)
            expect(client, "client", client_log)
            time.sleep(0.3)
        finally:
            server.end()
        check_arrived(out, size)
        return Finished(size, began, client, server, client.ended).figures


class Limit:
    """The machine's limit without a protocol, measured by udtx-blast."""
    SECONDS = 1.0

    def __init__(self, bench):
        self.bench = bench
        self.program = os.path.join(bench.build, "bench/loopback/udtx-blast")

    def missing(self):
        return None if os.access(self.program, os.X_OK) else f"not built: {self.program}"

    @staticmethod
    def datagram(mtu):
        return LARGEST_DATAGRAM if mtu == LOOPBACK_MTU else mtu - IP_AND_UDP

    def blast(self, line, mtu):
        """Returns bytes sent, (bytes received, seconds), and both ended processes."""
        log, send_log = (os.path.join(self.bench.work, f"blast-{end}.log") for end in ("receiver", "sender"))
        with open(log, "wb") as file:
            receiver = line.start(line.b, [self.program, "recv", str(tools.PORT)], stdout=file)
        net.wait_until(lambda: tools.said(log, b"ready"), 10, "the blast's receiver")
        with open(send_log, "wb") as file:
            words = [net.b_address(1), str(tools.PORT), str(self.datagram(mtu)), str(self.SECONDS)]
            sender = line.start(line.a, [self.program, "send", *words], stdout=file)
        expect(sender, "sender", send_log)
        expect(receiver, "receiver", log)
        with open(log, encoding="ascii") as file, open(send_log, encoding="ascii") as sent:
            return float(sent.read()), [float(word) for word in file.read().split()[1:]], sender, receiver

    def datagrams(self, line, mtu):
        _, (size, seconds), sender, receiver = self.blast(line, mtu)
        return Finished(size, 0.0, sender, receiver, seconds).figures

    def cipher(self, cipher, mtu):
        """Bit rate of the slower of sealing and opening, which run at the same time."""
        return 8 * min(self.alone("aead", cipher, str(self.datagram(mtu)), "0.5")[:2])

    def alone(self, *words):
        """Runs udtx-blast at the tools' priority and returns the numbers that it prints."""
        command = ["nice", "-n", net.NICE, self.program, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()]


def everyone(bench):
    return [Ours(bench, "aes"), Ours(bench, "chacha"), Ours(bench, "aes", ("--threads", "2")),
            Ours(bench, "aes", ("--threads", "4")),
            Iperf(bench),
            Entrant("UDT 4.11", tools.Udt4(bench), slow=True, only=(1500,)),
            Entrant("SRT file mode", tools.Srt(bench), slow=True, confirmed=False, only=(1500,)),
            Rsync(bench),
            Fetching("qcp", tools.Qcp(bench), slow=True, only=(1500,))]

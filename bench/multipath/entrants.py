"""The benchmark's tools: udtx over all paths and over the best one, and other multipath tools."""
import os
import shutil
import subprocess

import net
import tools
from tools import COPY, PORT

# Port of receivers that listen on all addresses. A competing flow uses another port.
OWN_PORT = 7021
MPTCP_PORT = 7022
# The shell is replaced by the tool. Bytes that the tool writes to /dev/null count as written.
TO_NULL = ["sh", "-c", 'exec "$@" > /dev/null', "sh"]


def from_file(path):
    return ["sh", "-c", 'exec "$@" < "$0"', path]


class Ours(tools.Udtx):
    """`pairs`: numbers of the address pairs. The first pair is in the URL."""

    def __init__(self, bench, name, pairs, kind, options=()):
        super().__init__(bench, None, options)
        self.name, self.pairs, self.kind = name, pairs, kind

    def receiver(self, out, host, size):
        command = [self.binary("udtx-recv"), "--listen", f":{OWN_PORT}", "--one-off", "--psk-file", self.bench.key()]
        return [*TO_NULL, *command, "-"] if self.kind == "ordered" else [*command, "--dir", out]

    def sender(self, source, host, seconds, size):
        command = [self.binary("udtx-send"), "--json", "-v", "--psk-file", self.bench.key(), *self.options]
        if len(self.pairs) > 1:
            for pair in self.pairs:
                command += ["--path", f"{net.a_address(pair)},{net.b_address(pair)}"]
        url = f"udtx://{net.b_address(self.pairs[0])}:{OWN_PORT}/"
        return [*from_file(source), *command, "-", url + "stream"] if self.kind == "ordered" else [*command, source, url]


class Tcp(tools.Tcp):
    """TCP over the address pair of the host that it is started for."""

    def __init__(self, bench, name, controller="cubic"):
        super().__init__(bench, controller)
        self.name = name


class Mptcp(Tcp):
    """Linux MPTCP: the receiver announces its other addresses, and the sender joins them over the links to them."""

    def __init__(self, bench, name, pairs, backup=False):
        super().__init__(bench, name)
        self.pairs, self.backup = pairs, backup

    def missing(self):
        if not shutil.which("mptcpize"):
            return "needs mptcpize (Debian: mptcpize)"
        try:
            with open("/proc/sys/net/mptcp/enabled", encoding="ascii") as file:
                if file.read().strip() != "1":
                    return "net.mptcp.enabled is not 1"
        except OSError:
            return "this kernel has no MPTCP"
        return super().missing()

    def prepare_on(self, line):
        for name in (line.a, line.b):
            net.ip("-n", name, "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8")
        for pair in self.pairs[1:]:
            net.ip("-n", line.b, "mptcp", "endpoint", "add", net.b_address(pair), "signal")
            if self.backup:
                net.ip("-n", line.a, "mptcp", "endpoint", "add", net.a_address(pair), "subflow", "backup", "fullmesh")

    def receiver(self, out, host, size):
        # Subflows join at other addresses, so that the listener must listen on all addresses.
        if size:
            return ["mptcpize", "run", *COPY, "recv", "0.0.0.0", str(PORT), os.path.join(out, "file")]
        return ["mptcpize", "run", "iperf3", "-s", "-1", "-p", str(MPTCP_PORT), "--forceflush", "-B", "0.0.0.0", "-F",
                "/dev/null"]

    def sender(self, source, host, seconds, size):
        port = [] if size else ["-p", str(MPTCP_PORT)]
        return ["mptcpize", "run", *super().sender(source, host, seconds, size), *port]


class Mpquic(tools.Tool):
    """Multipath QUIC (TQUIC) with BBR. A client in b fetches the file from a server in a; each path has a local
    address."""

    def __init__(self, bench, name, pairs):
        super().__init__(bench)
        self.name, self.pairs = name, pairs

    @staticmethod
    def program(name):
        return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), os.path.expanduser("~/.cargo/bin")]))

    def missing(self):
        if not self.program("tquic_client") or not self.program("tquic_server"):
            return "needs tquic_client and tquic_server (cargo install --locked tquic_tools)"
        return None if shutil.which("openssl") else "needs openssl, for the server's certificate"

    def certificate(self):
        base = os.path.join(self.bench.work, "tquic")
        if not os.path.exists(base + ".crt"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=bench", "-days",
                            "2", "-keyout", base + ".key", "-out", base + ".crt"], check=True, capture_output=True)
        return base

    COMMON = ["--enable-multipath", "--multipath-algor", "minrtt", "--active-cid-limit", "8", "--idle-timeout", "90000",
              "--send-udp-payload-size", "1452", "--log-level", "ERROR"]

    def server(self):
        base = self.certificate()
        return [self.program("tquic_server"), "--listen", f"{net.a_address(self.pairs[0])}:{PORT}", "--cert",
                base + ".crt", "--key", base + ".key", "--root", self.bench.work, *self.COMMON]

    def client(self, source, out):
        address = f"{net.a_address(self.pairs[0])}:{PORT}"
        return [self.program("tquic_client"), "--connect-to", address, "--local-addresses",
                ",".join(net.b_address(pair) for pair in self.pairs), "--dump-dir", out, *self.COMMON,
                f"https://bench/{os.path.basename(source)}"]

    def start(self, line, sampler, source, seconds, size=None, host=1):
        return self.start_fetching(line, sampler, host, self.server(), self.client(source, self.empty_directory(host)),
                                   lambda log, server: tools.udp_port_open(server))

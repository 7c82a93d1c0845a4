"""A link shaped by the kernel: a - router - b on veth pairs. TBF or HTB limits the router's device towards b."""
import json
import os
import shutil
import subprocess
import time

import net

# Bucket sizes that pass one packet at a time; a larger burst would pass packet pairs unshaped. TBF sends if the bucket
# holds the packet, HTB if the bucket is not overdrawn, so that HTB needs an empty bucket. The bucket also holds the
# bytes of the time by which the shaper's timer is late. Without them that part of the rate would be lost (an eighth at
# 50 Mbit/s, three tenths at 200 Mbit/s).
BURST_BYTES = {"tbf": 1540, "htb": 1}
TIMER_LATE_US = 30
QUEUE_BYTES = 500_000
PAYLOAD, HEADERS = 1472, 42  # bytes of a datagram; the headers include Ethernet's
SHAPERS = ("tbf", "htb")


def check(shapers):
    """Raises Unavailable if this machine lacks something that links with these shapers need."""
    if shapers and not shutil.which("iperf3"):
        raise net.Unavailable("needs iperf3, for cross traffic and to see what a shaper passes")
    for shaper in shapers:
        try:
            with ShapedLine(shaper, 50.0):
                pass
        except (RuntimeError, subprocess.CalledProcessError) as error:
            raise net.Unavailable(f"this kernel cannot make a link with {shaper}: {error}") from error


class ShapedLine(net.Namespaces):
    nice = "5"  # below the kernel's ksoftirqd (nice 0), which is the link

    def __init__(self, shaper, rate):
        super().__init__()
        self.shaper, self.rate = shaper, rate
        self.router = f"{self.tag}-r"

    def lay(self):
        net.ip("netns", "add", self.router)
        self.made.append(self.router)
        self.run(self.router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.proxy_arp=1")
        net.ip("-n", self.router, "addr", "add", "10.99.0.1/32", "dev", "lo")
        for name, side in ((self.a, "a"), (self.b, "b")):
            near, far = f"{self.tag}{side}", f"{self.tag}r{side}"
            net.ip("link", "add", near, "netns", name, "type", "veth", "peer", "name", far, "netns", self.router)
            # Packets must have their size on a wire before they reach the shaper.
            net.ip("-n", name, "link", "set", near, "gso_max_segs", "1")
            net.ip("-n", self.router, "link", "set", far, "up")
        self.address(self.a, f"{self.tag}a", [net.A_ADDRESS])
        self.address(self.b, f"{self.tag}b", [net.b_address(1)])
        for address, side in ((net.A_ADDRESS, "a"), (net.b_address(1), "b")):
            net.ip("-n", self.router, "route", "add", f"{address}/32", "dev", f"{self.tag}r{side}")
        # The router works on the last processor. On a sender's processor, its timers would delay a packet train by the
        # train's transmission time.
        queues = f"/sys/class/net/{self.tag}ra/queues/rx-0/rps_cpus"
        last = net.PROCESSORS[-1]
        mask = f"{1 << last % 32:x}" + ",00000000" * (last // 32)
        self.run(self.router, "sh", "-c", f"echo {mask} >{queues}")
        self.shape(f"{self.tag}rb")

    def start(self, name, command, **options):
        where = net.PROCESSORS[:-1] if name == self.a and len(net.PROCESSORS) > 1 else net.PROCESSORS
        return super().start(name, ["taskset", "-c", ",".join(map(str, where)), *command], **options)

    def shape(self, device):
        burst = str(int(BURST_BYTES[self.shaper] + self.rate * TIMER_LATE_US / 8))
        rate = f"{self.rate * 1e6:.0f}bit"
        if self.shaper == "tbf":
            self.run(self.router, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", burst,
                     "limit", str(QUEUE_BYTES))
            return
        self.run(self.router, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
        self.run(self.router, "tc", "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", "rate", rate,
                 "ceil", rate, "burst", burst, "cburst", burst, "quantum", "1514")
        self.run(self.router, "tc", "qdisc", "add", "dev", device, "parent", "1:1", "bfifo", "limit", str(QUEUE_BYTES))

    def passes(self, directory, seconds=1.0):
        """Mbit/s of payload that pass at an offered load above the rate. A shaper loses rate if its timer is later than
        TIMER_LATE_US."""
        ends = self.datagrams("passes", 1.2 * self.rate, int(seconds) + 2, directory)
        net.wait_until(lambda: self.counted("bytes") > QUEUE_BYTES, 10, "iperf3's flow")
        before, began = self.counted("bytes"), time.monotonic()
        time.sleep(seconds)
        passed = (self.counted("bytes") - before) / (time.monotonic() - began)
        for end in ends:
            net.end(end)
        net.wait_until(lambda: self.counted("backlog") == 0, 10, "the shaper's empty queue")
        return 8e-6 * passed * PAYLOAD / (PAYLOAD + HEADERS)

    def counted(self, counter):
        told = subprocess.run(["tc", "-n", self.router, "-s", "-j", "qdisc", "show", "dev", f"{self.tag}rb", "root"], check=True,
                              capture_output=True, text=True)
        return json.loads(told.stdout)[0][counter]

    def start_cross(self, rate, directory):
        """Starts datagrams at a constant rate from a to b, through the same queue."""
        self.datagrams("cross", rate, 60, directory)

    def datagrams(self, name, rate, seconds, directory):
        """Starts iperf3's server and client and returns both processes."""
        server_log = os.path.join(directory, f"{name}.server.log")
        with open(server_log, "wb") as log:
            server = self.start(self.b, ["iperf3", "-s", "-1", "-p", "7100", "--forceflush"], stdout=log, stderr=log)
        net.wait_until(lambda: b"listening" in open(server_log, "rb").read(), 10, "iperf3's server")
        with open(server_log, "ab") as log:
            client = self.start(self.a, ["iperf3", "-u", "-c", net.b_address(1), "-p", "7100", "-b", f"{rate}M",
                                         "-l", str(PAYLOAD), "-t", str(seconds)], stdout=log, stderr=log)
        return server, client

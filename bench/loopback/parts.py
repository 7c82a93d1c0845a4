"""Measures each part of a transfer alone. Their sum is the limit of one machine that is both ends."""
import os

import net
from figures import median


class Parts:
    """CPU seconds per GB of each part, over several rounds."""

    def __init__(self, limit, source, size):
        self.limit, self.source, self.size = limit, source, size
        self.rounds = {}  # part -> [CPU seconds per GB]

    def add_round(self, line, mtu):
        self.add("read and hash", self.a_gb("read", self.source))
        path = os.path.join(self.limit.bench.work, "written")
        try:
            self.add("hash and write", self.a_gb("write", path, str(self.size)))
        finally:
            if os.path.exists(path):
                os.unlink(path)
        ciphers = self.limit.alone("aead", "aes", str(self.limit.datagram(mtu)), "0.5")[2:]
        for part, cost in zip(("seal", "open"), ciphers):
            self.add(part, cost)
        for part, cost in zip(("send datagrams", "receive datagrams"), self.datagrams(line, mtu)):
            self.add(part, cost)

    def add(self, part, cost):
        self.rounds.setdefault(part, []).append(cost)

    def a_gb(self, *words):
        size, seconds = self.limit.alone(*words)
        return 1e9 * seconds / size

    def datagrams(self, line, mtu):
        """CPU seconds of the sender per GB sent, and of the receiver per GB received. Lost datagrams cost only the
        sender."""
        sent, received, sender, receiver = self.limit.blast(line, mtu)
        return 1e9 * sender.cpu / sent, 1e9 * receiver.cpu / received[0]

    def text(self):
        costs = {part: median(values) for part, values in self.rounds.items()}
        total = sum(costs.values())
        memory = total - costs["read and hash"] - costs["hash and write"]
        cores = len(net.PROCESSORS)
        rows = [f"| {part} | {cost:.3f} |" for part, cost in costs.items()]
        limit = (f"Limit of {cores} cores that are both ends, by that sum: {8 * cores / total:.1f} Gbit/s; "
                 f"from memory to memory {8 * cores / memory:.1f} Gbit/s.")
        return "\n".join(["| part alone | CPU s/GB |", "|---|---|", *rows, f"| sum | {total:.3f} |", "", limit])

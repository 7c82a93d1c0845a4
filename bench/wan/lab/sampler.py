"""Samples the numbers of bytes that processes have written, over time."""
import threading
import time


class Sampler(threading.Thread):
    """Thread that records [(time, bytes written)] per process."""

    def __init__(self, interval=0.05):
        super().__init__(daemon=True)
        self.interval = interval
        self.samples = {}
        self.over = threading.Event()

    def watch(self, process):
        self.samples[process.pid] = [(time.monotonic(), self.written(process.pid) or 0.0)]
        return self.samples[process.pid]

    @staticmethod
    def written(pid):
        try:
            with open(f"/proc/{pid}/io", encoding="ascii") as file:
                for line in file:
                    if line.startswith("wchar:"):
                        return float(line.split()[1])
        except OSError:
            pass
        return None

    def run(self):
        while not self.over.wait(self.interval):
            for pid, samples in list(self.samples.items()):
                written = self.written(pid)
                if written is not None:
                    samples.append((time.monotonic(), written))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()

"""Several emulated links between the two namespaces, with an address pair for each path."""
import os
import time
from dataclasses import dataclass, field

import net


@dataclass(frozen=True)
class LineSpec:
    """A link. `settings`: for both directions, in the emulator's syntax; `changes`: [(seconds after the flow's start,
    text)]; `paths`: number of address pairs that are routed over it."""
    settings: str
    changes: tuple = ()
    paths: int = 1


@dataclass
class Place:
    """A link with its emulator and the numbers of its address pairs."""
    spec: LineSpec
    pairs: list
    emulator: net.Emulator = None
    devices: dict = field(default_factory=dict)


class EmulatedPaths(net.Namespaces):
    """Pair i is net.a_address(i), net.b_address(i), numbered from 1 over all links. Namespace a routes by destination,
    b by source address. A server in b that is reached at its second address therefore answers over the second link. So
    does a client in b that binds that address (QUIC: all paths lead to one address of a)."""

    LEAD = 2.0  # seconds from the emulators' start to the flow's start, from which the times of changes count

    def __init__(self, program, specs, directory, seed):
        super().__init__()
        self.program, self.directory, self.seed = program, directory, seed
        self.places = []
        number = 1
        for spec in specs:
            self.places.append(Place(spec, list(range(number, number + spec.paths))))
            number += spec.paths

    @property
    def zero(self):
        """When the flow starts, on the monotonic clock."""
        return self.places[0].emulator.began + self.LEAD

    def lay(self):
        for index, place in enumerate(self.places):
            self.lay_path(index, place)

    def lay_path(self, index, place):
        since = 0.0 if index == 0 else self.first_age()
        arguments = ["--both", place.spec.settings, "--seed", str(self.seed * 16 + index), "--interval", "20ms"]
        for when, text in place.spec.changes:
            arguments += ["--at", f"{max(0.0, when + self.LEAD - since):.3f}s:{text}"]
        place.devices = {self.a: f"{self.tag}{index}a", self.b: f"{self.tag}{index}b"}
        place.emulator = net.Emulator(self.program, arguments, list(place.devices.values()), self.file(index, "line"),
                                      self.file(index, "flows"))
        for name, device in place.devices.items():
            own, far = (net.a_address, net.b_address) if name == self.a else (net.b_address, net.a_address)
            net.ip("link", "set", device, "netns", name)
            for pair in place.pairs:
                net.ip("-n", name, "addr", "add", f"{own(pair)}/32", "dev", device)
            net.ip("-n", name, "link", "set", device, "txqueuelen", "10000", "up")
            for pair in place.pairs:
                net.ip("-n", name, "route", "add", f"{far(pair)}/32", "dev", device, "src", own(pair))
                if name == self.b:
                    net.ip("-n", name, "rule", "add", "from", own(pair), "lookup", str(100 + pair))
                    net.ip("-n", name, "route", "add", "default", "dev", device, "table", str(100 + pair))

    def first_age(self):
        return time.monotonic() - self.places[0].emulator.began

    def wait_for_start(self):
        time.sleep(max(0.0, self.zero - time.monotonic()))

    def file(self, index, what):
        return os.path.join(self.directory, f"{what}-{index}.csv")

    def stop_emulators(self):
        return [place.emulator.stop() for place in self.places]

    def __exit__(self, *_):
        for place in self.places:
            if place.emulator is not None:
                place.emulator.end()
        super().__exit__()

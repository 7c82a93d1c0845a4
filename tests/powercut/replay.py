#!/usr/bin/python3
"""Cuts the power at points of a recording, and checks the remaining files.

usage: replay.py WORK KIND POINTS AGAIN SEND RECV

`run` prepares WORK: store/log, base/*.img (before the recording), versions/N (the tree of run N), psk. POINTS is the
number of points to try, spread evenly, or "all". At AGAIN of them the command runs again. The last line has the
figures."""
import os
import random
import re
import signal
import subprocess
import sys
import time

from cut_disk import CutDisk, all_points
from disk_log import DISKS, FLUSH, MARK, Log
from trees import facts, judge, scan

SUBSETS = 2  # variants of a partly lost cache before each flush, when all points are tried
SHOWN = 20  # limit of the wrong entries that are named


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class Machine:
    """The machine whose power fails: its disks are mounted as they were for the receiver."""

    def __init__(self, work, kind):
        self.work = work
        self.kind = kind
        self.log = Log(f"{work}/store/log")
        self.top = f"{work}/top"
        self.tree = f"{self.top}/tree"
        self.sub = f"{work}/sub"
        self.mounted = []
        self.disks = []
        self.loops = []
        for number, name in enumerate(DISKS):
            if os.path.exists(f"{work}/base/{name}.img"):
                self.disks.append(CutDisk(self.log, number, f"{work}/base/{name}.img", f"{work}/{name}.cut"))
                made = run("losetup", "--find", "--show", f"{work}/{name}.cut")
                self.loops.append(made.stdout.strip())

    def mount(self, *command):
        done = run("mount", *command)
        if done.returncode == 0:
            self.mounted.append(command[-1])
        return done.stderr.strip() if done.returncode else ""

    def cut(self, point):
        """Boots after the cut; returns the errors of that."""
        for disk, loop in zip(self.disks, self.loops):
            disk.make_cut(point)
        error = self.mount("-t", self.kind, self.loops[0], self.top)
        if not error and len(self.loops) > 1:
            error = self.mount("-t", self.kind, self.loops[1], self.sub)
            error = error or self.mount("--bind", f"{self.sub}/at", f"{self.tree}/sub")
        return error

    def down(self):
        for at in reversed(self.mounted):
            done = run("umount", at)
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
        self.mounted = []

    def close(self):
        self.down()
        for loop in self.loops:
            run("losetup", "--detach", loop)


class Confirmations:
    """The confirmations that the sender had received at a position. Each mark was written after its confirmation."""

    def __init__(self, log):
        self.marks = []
        for at, event in enumerate(log.events):
            if event.kind == MARK:
                self.marks.append((at, log.data(event).decode().split()))

    def start(self):
        return next(at for at, words in self.marks if words[0] == "start")

    def at(self, position):
        """Returns the confirmed version, the version in transfer, and the number of confirmed files of the latter."""
        confirmed, under_way, files = "0", None, 0
        for at, words in self.marks:
            if at >= position:
                break
            if words[0] == "start":
                under_way, files = words[1], 0
            elif words[0] == "files" and words[1] == under_way:
                files = int(words[2])
            elif words[0] == "done":
                confirmed, under_way, files = words[1], None, 0
        return confirmed, under_way or confirmed, files


def journal_in(top):
    """The path of a journal with content, if there is one."""
    for name in os.listdir(top):
        path = os.path.join(top, name)
        if name.endswith(".journal") and os.path.getsize(path) > 200:
            return path
    return None


def tear(path, dice):
    """Damages the end of a journal."""
    size = os.path.getsize(path)
    lost = dice.randrange(1, 20)
    with open(path, "r+b") as journal:
        journal.seek(size - lost)
        journal.write(b"\0" * lost)


class Again:
    """Runs the same command again after a cut."""

    def __init__(self, work, send, recv):
        self.work = work
        self.send = send
        self.recv = recv
        self.runs = self.torn = self.used = 0

    def wants(self, journal, due):
        """True if another run is due; every second run needs a journal to resume from."""
        return self.runs < due and (journal or self.runs % 2 == 1)

    def complete(self, machine, version, dice):
        """Returns the errors after the run."""
        journal = journal_in(machine.top)
        torn = journal and self.runs % 3 != 2
        if torn:
            tear(journal, dice)
        source = f"{self.work}/tree"
        os.rename(f"{self.work}/versions/{version}", source)
        with open(f"{self.work}/again.log", "w") as said:
            receiver = subprocess.Popen([self.recv, "--listen", "127.0.0.1:0", "--allow-delete", "--one-off", "--dir",
                                         machine.top, "--psk-file", f"{self.work}/psk"], stderr=said)
        try:
            sent = run(self.send, "-a", "--delete", "--json", "--psk-file", f"{self.work}/psk", source,
                       f"udtx://127.0.0.1:{self.port(receiver)}/")
            code = receiver.wait(timeout=60)
        finally:
            receiver.kill()
            receiver.wait()
            is_there, should = facts(machine.tree), facts(source)
            os.rename(source, f"{self.work}/versions/{version}")
        self.runs += 1
        said = sent.stderr + open(f"{self.work}/again.log").read()
        wrong = [] if (sent.returncode, code) == (0, 0) else [f"again: codes {sent.returncode}, {code}: {said}"]
        wrong += [f"again: {path} is {is_there.get(path)}, not {should.get(path)}"
                  for path in sorted(set(is_there) | set(should)) if is_there.get(path) != should.get(path)]
        if torn:
            self.torn += 1
            resumed = int(re.search(r'"resumed_bytes":(\d+)', sent.stdout).group(1)) if sent.stdout else 0
            self.used += resumed
            if "is damaged" not in said:
                wrong.append(f"again: nobody says that the journal is torn: {said}")
        return wrong

    def port(self, receiver):
        for _ in range(1200):
            found = re.search(r"listening on .*:(\d+)/udp", open(f"{self.work}/again.log").read())
            if found:
                return found.group(1)
            if receiver.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("the receiver does not listen: " + open(f"{self.work}/again.log").read())


def choose(points, wanted):
    """Selects this number of points, spread evenly."""
    if wanted >= len(points):
        return points
    return [points[number * len(points) // wanted] for number in range(wanted)]


def replay(machine, confirmations, versions, points, again, again_at):
    """Returns the number of files read, and the number of cuts with a wrong state."""
    files = failures = shown = 0
    for number, point in enumerate(points):
        confirmed, under_way, count = confirmations.at(point.position)
        error = machine.cut(point)
        wrong = [f"cannot be mounted: {error}"] if error else []
        if not error:
            found = scan(machine.tree)
            files += sum(1 for entry in found.values() if entry.inode)
            wrong = judge(found, versions[confirmed], versions[under_way], count)
            due = 1 + number * again_at // len(points)
            if not wrong and under_way != "0" and again.wants(journal_in(machine.top), due):
                wrong = again.complete(machine, under_way, random.Random(number))
        machine.down()
        failures += bool(wrong)
        for line in wrong:
            shown += 1
            if shown <= SHOWN:
                print(f"WRONG {machine.kind}, {point}, run {under_way} (confirmed {confirmed}): {line}", flush=True)
    return files, failures


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # releases the disks
    work, kind, wanted, again_at, send, recv = sys.argv[1:7]
    again_at = int(again_at)
    machine = Machine(work, kind)
    confirmations = Confirmations(machine.log)
    points = all_points(machine.log, confirmations.start(), SUBSETS if wanted == "all" else 1)
    if wanted != "all":
        # Right after a confirmation the most data must exist, and with a lost cache the least does.
        done = {at + 1 for at, words in confirmations.marks if words[0] == "done"}
        after = [point for point in points if point.position in done and point.mode == "lost"]
        points = sorted(set(choose(points, int(wanted)) + after))
    versions = {name: scan(f"{work}/versions/{name}") for name in os.listdir(f"{work}/versions")}
    again = Again(work, send, recv)
    try:
        files, wrong = replay(machine, confirmations, versions, points, again, again_at)
    finally:
        machine.close()
    flushes = sum(1 for event in machine.log.events if event.kind == FLUSH)
    print(f"{len(points)} {flushes} {files} {wrong} {again.runs} {again.torn} {again.used}")


if __name__ == "__main__":
    main()

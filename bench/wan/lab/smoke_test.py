#!/usr/bin/env python3
"""Tests the emulator on real devices: sends datagrams through it and back. All bounds are lower bounds, which hold
under load.

  smoke_test.py EMULATOR
"""
import os
import socket
import subprocess
import sys
import tempfile
import time

import figures
import net

PORT = 7012
DATAGRAMS, BYTES = 20, 1000
RATE, DELAY = 2e6, 0.03  # bit/s, s


def echo(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, PORT))
        print("ready", flush=True)
        for _ in range(DATAGRAMS):
            data, sender = sock.recvfrom(2048)
            sock.sendto(data, sender)


def ping(address):
    """Prints the delay of the first answer and the time from the first answer to the last."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        begin = time.monotonic()
        for i in range(DATAGRAMS):
            sock.sendto(i.to_bytes(2, "big").ljust(BYTES), (address, PORT))
        times = []
        for i in range(DATAGRAMS):
            data = sock.recv(2048)
            times.append(time.monotonic())
            assert int.from_bytes(data[:2], "big") == i, "out of order"
        print(times[0] - begin, times[-1] - times[0])


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def main(emulator):
    net.check_machine()
    python = [sys.executable, os.path.abspath(__file__)]
    settings = ["--both", f"rate={RATE / 1e6}M,delay={DELAY * 1e3}ms,queue=100000", "--host", "2:delay=20ms"]
    with tempfile.TemporaryDirectory(prefix="udtx-wan-smoke.") as work:
        with net.EmulatedLine(emulator, settings, work, hosts=2) as line:
            peer = line.start(line.b, [*python, "echo", net.b_address(2)], stdout=subprocess.PIPE, text=True)
            check(peer.stdout.readline() == "ready\n", "the echo does not start")
            asker = line.start(line.a, [*python, "ping", net.b_address(2)], stdout=subprocess.PIPE, text=True)
            text, _ = asker.communicate(timeout=60)
            first, spread = (float(word) for word in text.split())
            report = line.stop_emulator()
            flows = figures.flow_counters(line.flows)
            trace = figures.LineTrace(line.trace)
        leftovers = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    wire = BYTES + 28
    # The answer to the first datagram takes two serialisations and the delays of the link and of the host.
    check(first >= 2 * (wire * 8 / RATE + DELAY + 0.02), f"the first answer came after {first} s")
    # If the first delivery is late, the spread is shorter by that time. On a paused machine, it may be almost zero.
    check(spread > 0, f"{DATAGRAMS} answers within {spread} s")
    for way in ("down", "up"):
        check(report[way]["delivered"] >= DATAGRAMS, f"{way}: {report[way]}")
        check(report[way]["dropped_queue"] == 0, f"{way}: {report[way]}")
    check(report["down"]["mean_wait_ms"] > 0, "nothing waited in the queue")
    check(flows[2][-1][1] >= DATAGRAMS * wire, f"bytes of host 2: {flows.get(2)}")
    check(trace.rows and trace.rows[-1]["delivered"] >= DATAGRAMS, "the trace is short")
    check(line.a not in leftovers, "a namespace is left")


if __name__ == "__main__":
    if sys.argv[1] == "echo":
        echo(sys.argv[2])
    elif sys.argv[1] == "ping":
        ping(sys.argv[2])
    else:
        try:
            main(sys.argv[1])
        except net.Unavailable as why:
            print(f"skipped: {why}")
            sys.exit(77)

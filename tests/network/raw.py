"""Sends packets that only a raw socket can send, on loopback, and counts those that pass there. For this directory's tests.

raw.py may                                    exits with 0 if this process may open such sockets
raw.py icmp CLIENT SERVER SECONDS             sends forged "fragmentation needed" with MTUs of 68, 0, 552 and 1199 to both ends
                                              the whole time; prints the largest datagram from port CLIENT to SERVER (0: any)
                                              in the last half, and how many were forged
raw.py cross ONE TWO FILE                     sends the packets of FILE (one per line, in hexadecimal digits) to each of two
                                              ports with the other's address; prints how many were injected, how many the
                                              two sent each other within 10 s, and how many of those in the last 5 s
"""
import pathlib
import random
import socket
import struct
import sys
import time

HOME = socket.inet_aton("127.0.0.1")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data + b"" if len(data) % 2 == 0 else data + b"\0"))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_header(protocol, size, number=0):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + size, number, 0, 64, protocol, 0, HOME, HOME)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def udp(source, target, payload):
    return struct.pack("!HHHH", source, target, 8 + len(payload), 0) + payload


def sender():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def listener():
    ears = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    ears.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    return ears


def heard(ears, until):
    """(source port, target port, bytes of payload) of each datagram that passes until then."""
    while True:
        left = until - time.monotonic()
        if left <= 0:
            return
        ears.settimeout(left)
        try:
            packet = ears.recv(65536)
        except socket.timeout:
            return
        source, target, size = struct.unpack("!HHH", packet[20:26])
        yield source, target, size - 8


def fragmentation_needed(source, target, mtu):
    """The ICMP packet of a router to the sender of a datagram from port `source` to `target`."""
    began = ip_header(17, 8 + 1400) + udp(source, target, b"")[:8]
    message = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + began
    message = message[:2] + struct.pack("!H", checksum(message)) + message[4:]
    return ip_header(1, len(message)) + message


def icmp(client, server, seconds):
    out, ears = sender(), listener()
    began = time.monotonic()
    forged = largest = 0
    due = began
    for source, target, size in heard(ears, began + seconds):
        if target == server and (not client or source == client):
            client = source
            if time.monotonic() > began + seconds / 2:
                largest = max(largest, size)
        if client and time.monotonic() >= due:
            due = time.monotonic() + 0.005
            for mtu in (68, 0, 552, 1199):
                out.sendto(fragmentation_needed(client, server, mtu), ("127.0.0.1", 0))
                out.sendto(fragmentation_needed(server, client, mtu), ("127.0.0.1", 0))
                forged += 2
    print(largest, forged)


def cross(one, two, path):
    packets = [bytes.fromhex(line) for line in pathlib.Path(path).read_text().split() if len(line) < 100000]
    chance = random.Random(1)
    for packet in list(packets):
        changed = bytearray(packet)
        changed[chance.randrange(1, 5)] ^= 0x7f  # another version or another connection
        packets.append(bytes(changed))
    packets += [bytes(chance.randrange(256) for _ in range(size)) for size in range(1, 1400, 37)]
    out, ears = sender(), listener()
    injected = set()
    for packet in packets:
        for source, target in ((one, two), (two, one)):
            datagram = udp(source, target, packet)
            out.sendto(ip_header(17, len(datagram)) + datagram, ("127.0.0.1", 0))
            injected.add((source, target))
    count = 2 * len(packets)
    began = time.monotonic()
    passed = late = 0
    for source, target, _ in heard(ears, began + 10):
        if (source, target) in injected:
            passed += 1
            late += time.monotonic() > began + 5
    print(count, passed - count, late)


def main():
    command, words = sys.argv[1], sys.argv[2:]
    if command == "may":
        try:
            sender().close()
            listener().close()
        except OSError as error:
            sys.exit(str(error))
    elif command == "icmp":
        icmp(int(words[0]), int(words[1]), float(words[2]))
    elif command == "cross":
        cross(int(words[0]), int(words[1]), words[2])


main()

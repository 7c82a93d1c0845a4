#!/usr/bin/env python3
"""Copies a file over TCP with a chosen congestion control. The sender ends when the receiver has confirmed the whole
file.

iperf3 is not suitable: it stops the receiver when the last byte is in the sender's buffer.

  tcp_copy.py recv ADDRESS PORT FILE
  tcp_copy.py send ADDRESS PORT FILE CONTROLLER
"""
import socket
import sys

CHUNK = 1 << 20


def receive(address, port, path):
    with socket.create_server((address, port)) as listener:
        print("ready", flush=True)
        connection, _ = listener.accept()
    with connection, open(path, "wb") as file:
        buffer = memoryview(bytearray(CHUNK))
        while got := connection.recv_into(buffer):
            file.write(buffer[:got])
        file.flush()
        connection.sendall(b"k")


def send(address, port, path, controller):
    with socket.socket() as connection, open(path, "rb") as file:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
        connection.connect((address, port))
        connection.sendfile(file)
        connection.shutdown(socket.SHUT_WR)
        return 0 if connection.recv(1) == b"k" else 1


if __name__ == "__main__":
    side, address_, port_, path_ = sys.argv[1:5]
    sys.exit(receive(address_, int(port_), path_) if side == "recv" else send(address_, int(port_), path_, sys.argv[5]))

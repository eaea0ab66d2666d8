#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An app with large bodies: GET …/N sends N bytes, any other request is read and its length returned.

    bulk.py PORT
"""
import re
import socket
import sys
import threading

BLOCK = bytes(1 << 20)


def exactly(connection, buffer, waiting, length):
    """Reads a body of a known length."""
    left = length - len(waiting)
    while left > 0:
        count = connection.recv_into(buffer, min(left, len(buffer)))
        if not count:
            raise ConnectionError
        left -= count


def respond(connection, buffer, head, waiting):
    method, target = head.split(b" ", 2)[:2]
    found = re.search(rb"\r\ncontent-length: *(\d+)", head, re.I)
    length = int(found[1]) if found else 0
    exactly(connection, buffer, waiting, length)
    if method != b"GET":
        text = b"%d" % length
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        return
    size = int(target.rsplit(b"/", 1)[1])
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
    for start in range(0, size, len(BLOCK)):
        connection.sendall(BLOCK[:size - start])


def attend(connection):
    buffer, waiting = bytearray(1 << 20), b""
    with connection:
        try:
            while True:
                while b"\r\n\r\n" not in waiting:
                    data = connection.recv(65536)
                    if not data:
                        return
                    waiting += data
                head, _, rest = waiting.partition(b"\r\n\r\n")
                respond(connection, buffer, head, rest)
                waiting = b""
        except OSError:
            return


def main():
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=attend, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main()

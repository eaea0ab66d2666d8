#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An app that returns the user it got in each response: uploads, downloads, server-sent events, WebSocket.

    app.py PORT
"""
import asyncio
import base64
import hashlib
import struct
import sys
import zlib

WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
PATTERN = bytes(range(256)) * 256


class Request:
    """A head that was read; the body is not read yet."""

    def __init__(self, head):
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, target, _ = first.split(" ")
        self.parts = target.partition("?")[0].strip("/").split("/")
        pairs = [line.partition(":") for line in lines if line]
        self.fields = {name.lower(): value.strip() for name, _, value in pairs}
        self.user = self.fields.get("x-forwarded-user", "anonymous")

    async def body(self, reader):
        """Length and checksum of the body."""
        count, check = 0, 0
        async for part in self.pieces(reader):
            count, check = count + len(part), zlib.crc32(part, check)
        return count, check

    async def pieces(self, reader):
        if self.fields.get("transfer-encoding") == "chunked":
            while length := int(await reader.readuntil(b"\r\n"), 16):
                yield await reader.readexactly(length)
                await reader.readexactly(2)
            await reader.readexactly(2)
            return
        left = int(self.fields.get("content-length", "0"))
        while left:
            part = await reader.read(min(left, 65536))
            if not part:
                raise ConnectionError
            left -= len(part)
            yield part


def head(status, **fields):
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


async def events(request, writer):
    """As many events as asked, some milliseconds apart."""
    writer.write(head("200 OK", Content_Type="text/event-stream", Transfer_Encoding="chunked"))
    for number in range(int(request.parts[-1])):
        event = f"id: {number}\ndata: {request.user} {number}\n\n".encode()
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(0.02)
    writer.write(b"0\r\n\r\n")


async def frame(reader):
    """Opcode and data of one frame of a client."""
    first, second = await reader.readexactly(2)
    length = second & 127
    if length == 126:
        length, = struct.unpack(">H", await reader.readexactly(2))
    elif length == 127:
        length, = struct.unpack(">Q", await reader.readexactly(8))
    mask = await reader.readexactly(4)
    data = bytearray(await reader.readexactly(length))
    for index in range(length):
        data[index] ^= mask[index % 4]
    return first & 15, bytes(data)


def framed(opcode, data):
    size = bytes([len(data)]) if len(data) < 126 else struct.pack(">BH", 126, len(data))
    return bytes([0x80 | opcode]) + size + data


async def websocket(request, reader, writer):
    """Sends its user first, then echoes what it gets, with the user before it."""
    key = request.fields["sec-websocket-key"].encode()
    accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET).digest()).decode()
    fields = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Accept": accept}
    writer.write(head("101 Switching Protocols", **fields) + framed(TEXT, request.user.encode()))
    while True:
        opcode, data = await frame(reader)
        if opcode == CLOSE:
            writer.write(framed(CLOSE, data))
            return
        if opcode == PING:
            writer.write(framed(PONG, data))
        elif opcode in (TEXT, BINARY):
            writer.write(framed(opcode, request.user.encode() + b" " + data))
        await writer.drain()


async def respond(request, reader, writer):
    """Responds to one request; whether the connection can have another one."""
    kind = request.parts[1] if len(request.parts) > 1 else "who"
    if kind == "ws" and request.fields.get("upgrade", "").lower() == "websocket":
        await websocket(request, reader, writer)
        return False
    count, check = await request.body(reader)
    if kind == "events":
        await events(request, writer)
    elif kind == "down":
        size = int(request.parts[-1])
        writer.write(head("200 OK", Content_Length=size, X_User=request.user))
        for start in range(0, size, len(PATTERN)):
            writer.write(PATTERN[:size - start])
            await writer.drain()
    else:
        text = f"{request.user} {count} {check}".encode()
        writer.write(head("200 OK", Content_Type="text/plain", Content_Length=len(text)) + text)
    await writer.drain()
    return True


async def attend(reader, writer):
    try:
        while True:
            request = Request((await reader.readuntil(b"\r\n\r\n"))[:-4])
            if not await respond(request, reader, writer):
                break
    except (asyncio.IncompleteReadError, OSError):
        pass
    finally:
        writer.close()


async def serve(port):
    server = await asyncio.start_server(attend, "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))

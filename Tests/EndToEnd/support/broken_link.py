# SPDX-License-Identifier: Apache-2.0
"""A network between a client and a server that a test breaks."""

import asyncio
import threading

from .processes import free_port

#: How much later than they come bytes are passed on by a link that is slow, in seconds.
DELAY = 2


class Link:
    """Passes connections to a port of this machine on to another one, as `mode` allows.

    - `open`: as they are;
    - `slow`: whatever the server sends comes two seconds late;
    - `half_open`: connections stay open and new ones are accepted, but nothing passes in any direction;
    - `reset`: connections are reset, new ones as well.
    """
    def __init__(self, target):
        self.port, self.target, self._mode = free_port(), target, "open"
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = self._call(asyncio.start_server(self._accepted, "127.0.0.1", self.port))

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def set(self, mode):
        self._call(self._set(mode))

    async def _set(self, mode):
        self._mode = mode
        if mode == "reset":
            for writer in self.writers:
                writer.transport.abort()

    async def _accepted(self, reader, writer):
        if self._mode == "reset":
            return writer.transport.abort()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return writer.transport.abort()
        pair = {writer, far_writer}
        self.writers |= pair
        try:
            await asyncio.gather(self._pass(reader, far_writer, False), self._pass(far_reader, writer, True))
        except OSError:
            pass
        finally:
            self.writers -= pair
            for one in pair:
                one.transport.abort()

    async def _pass(self, reader, writer, is_response):
        while data := await reader.read(65536):
            if self._mode == "slow" and is_response:
                await asyncio.sleep(DELAY)
            # What a broken network holds back comes late, when the connection is closed already.
            while self._mode == "half_open":
                await asyncio.sleep(0.05)
            writer.write(data)
            await writer.drain()
        writer.close()

    def close(self):
        self._call(self._set("reset"))
        self.loop.call_soon_threadsafe(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)

"""A network as a class on Wi-Fi has it: every byte arrives late, or the server pauses."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

_CHUNK_BYTES = 65_536


@contextmanager
def delayed(url: str, milliseconds: float) -> Iterator[str]:
    """Yield the URL of a proxy before `url` that delays both directions by `milliseconds`."""
    target = urlsplit(url)
    assert target.hostname
    assert target.port
    proxy = _Proxy(target.hostname, target.port, milliseconds / 1000)
    thread = threading.Thread(target=proxy.run, daemon=True)
    thread.start()
    assert proxy.ready.wait(10), "the proxy did not start"
    try:
        yield f"http://127.0.0.1:{proxy.port}"
    finally:
        proxy.stop()
        thread.join(10)


def pause_process(pid: int, milliseconds: float) -> None:
    """Stop a process for a while, as a server is that swaps or has no processor left."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(milliseconds / 1000)
    finally:
        os.kill(pid, signal.SIGCONT)


class _Proxy:
    """A TCP proxy with an event loop of its own: Playwright's synchronous API holds the thread."""

    def __init__(self, host: str, port: int, delay: float) -> None:
        self._target = (host, port)
        self._delay = delay
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self.ready = threading.Event()
        self.port = 0

    def run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self._stopped.wait()
        server.close()
        open_connections = asyncio.all_tasks() - {asyncio.current_task()}
        for task in open_connections:
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back_writer = None
        try:
            back_reader, back_writer = await asyncio.open_connection(*self._target)
            await asyncio.gather(self._carry(reader, back_writer), self._carry(back_reader, writer))
        except (OSError, asyncio.CancelledError):  # a side has closed, or the test has ended
            pass
        finally:
            for each in (writer, back_writer):
                if each is not None:
                    each.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send on what arrives, in order, each piece `delay` after it came."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sender = asyncio.create_task(self._send_late(pieces, writer))
        try:
            piece = b"first"
            while piece:
                piece = await reader.read(_CHUNK_BYTES)
                pieces.put_nowait((self._loop.time() + self._delay, piece))
            await sender
        finally:
            sender.cancel()

    async def _send_late(
        self, pieces: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        while True:
            due, piece = await pieces.get()
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            if not piece:  # the end of this direction; the other may go on
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(piece)
            await writer.drain()

"""The server: on this machine only, for one session."""

import asyncio
import signal
import socket
from collections.abc import Collection
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .guard import PATIENCE, Asgi, Guard

ADDRESS = "127.0.0.1"
MAX_BODY = 1 << 20
"""Bytes of a request."""
MAX_TASKS = 32 << 20
"""Bytes of a request with many tasks, from an annotation tool."""


class Impatient(H11Protocol):
    """A connection that is closed after PATIENCE seconds without a request."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._close_if_idle, None)

    def _close_if_idle(self, cycle_then: Any) -> None:
        cycle = self.cycle
        if self.transport.is_closing():
            return
        if cycle is cycle_then and (cycle is None or cycle.response_complete):
            self.transport.close()
            return
        self.loop.call_later(PATIENCE, self._close_if_idle, cycle)


def listen(port: int) -> socket.socket:
    """A socket of this machine; port 0 stands for any that is free.

    Raises:
        OSError: the port is in use.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen()  # Who connects early waits.
    except OSError as error:
        listening.close()
        raise OSError(f"port {port} cannot be used: {error.strerror or error}") from error
    return listening


def guarded(app: Asgi, token: str, port: int, others: Collection[str] = (), *, is_in_header: bool = False) -> Guard:
    """A `Guard` of an application. others: further accepted values of Host."""
    names = (ADDRESS, "localhost")
    hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
    max_body = MAX_TASKS if is_in_header else MAX_BODY
    return Guard(app, token, hosts | {other.lower() for other in others}, max_body, is_in_header)


def run(app: Asgi, listening: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; further ones do not interrupt the caller's next steps."""
    config = uvicorn.Config(
        app,
        http=Impatient,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))

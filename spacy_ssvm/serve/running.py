"""The server, on this machine only, for one session; and its check of requests: the token, a host of this server, its
own pages, and a small body in time.
"""

import asyncio
import hmac
import json
import signal
import socket
from base64 import b64decode
from binascii import Error
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

ADDRESS = "127.0.0.1"
MAX_BODY = 1 << 20
"""Bytes of a request."""
MAX_TASKS = 32 << 20
"""Bytes of a request with many tasks, from an annotation tool."""
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

PATIENCE = 30.0
"""Seconds that a body, or the next request of a connection, may take."""
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


class Refusal(Exception):
    """The application does not get a request; its arguments are the status and the text of the answer."""


@dataclass(frozen=True)
class Guard:
    """An ASGI application that checks each request before another one gets it.

    Args:
        app: gets the paths below the token, or all of them if the token is in a header.
        token: the first part of each path, or what the header Authorization ends with: after "Token" or "Bearer", or as
            the password of "Basic".
        hosts: the values of Host that are answered, with their ports, in lower case.
        max_body: bytes.
    """

    app: Asgi
    token: str
    hosts: Collection[str]
    max_body: int
    is_in_header: bool = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        body = b""
        try:
            self._check(scope)
            if scope["method"] == "POST":
                body = await asyncio.wait_for(_body(receive), PATIENCE)
        except Refusal as refusal:
            await _answer(send, *refusal.args)
            return
        except (TimeoutError, asyncio.TimeoutError):
            await _answer(send, HTTPStatus.REQUEST_TIMEOUT, f"a body has to arrive within {PATIENCE:.0f} seconds")
            return
        if not self.is_in_header:
            path = scope["path"][1 + len(self.token) :]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        is_given = False

        async def given() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self.app(scope, given if scope["method"] == "POST" else receive, answered)

    def _check(self, scope: Message) -> None:
        """Raise a Refusal of a request that the application is not to get."""

        def all_of(name: bytes) -> list[str]:
            return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]

        hosts = all_of(b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:  # DNS may have led any name here.
            raise Refusal(HTTPStatus.FORBIDDEN, f"Host must be one of {', '.join(sorted(self.hosts))}")
        own = f"http://{hosts[0]}".lower()
        if any(origin.lower() != own for origin in all_of(b"origin")):
            raise Refusal(HTTPStatus.FORBIDDEN, "pages of other origins are not answered")
        if self.is_in_header:
            if not any(self._is_token(_token_in(value)) for value in all_of(b"authorization")):
                raise Refusal(HTTPStatus.UNAUTHORIZED, "the header Authorization has to be: Token, and the token")
        elif not self._is_token(scope["path"].split("/")[1]) or scope["path"].count("/") < 2:
            raise Refusal(HTTPStatus.FORBIDDEN, "the address has to be the whole one that the server has printed")
        if scope["method"] != "POST":
            return
        if [value.partition(";")[0].strip().lower() for value in all_of(b"content-type")] != ["application/json"]:
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
        lengths = all_of(b"content-length")
        if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdecimal()):
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "Content-Length must be the number of bytes")
        if int(lengths[0]) > self.max_body:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {self.max_body:,} bytes")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def _token_in(authorization: str) -> str:
    kind, _, value = authorization.partition(" ")
    if kind.lower() != "basic":
        return value.strip() if kind.lower() in ("token", "bearer") else ""
    try:
        return b64decode(value, validate=True).decode().partition(":")[2]
    except (Error, ValueError):
        return ""


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answer(send: Send, status: HTTPStatus, says: str) -> None:
    body = json.dumps({"error": says}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})


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

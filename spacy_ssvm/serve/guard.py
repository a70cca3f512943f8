"""The check of requests: the token, a host of this server, its own pages, and a small body in time."""

import asyncio
import hmac
import json
from base64 import b64decode
from binascii import Error
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

PATIENCE = 30.0
"""Seconds that a body may take."""
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that the application does not get."""

    status: HTTPStatus
    says: str


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
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        refusal = self._refusal(scope, headers)
        body = b""
        if refusal is None and scope["method"] == "POST":
            try:
                body = await asyncio.wait_for(_body(receive), PATIENCE)
            except (TimeoutError, asyncio.TimeoutError):
                refusal = Refusal(HTTPStatus.REQUEST_TIMEOUT, f"a body has to arrive within {PATIENCE:.0f} seconds")
        if refusal is not None:
            await _answer(send, refusal)
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

    def _refusal(self, scope: Message, headers: list[tuple[bytes, str]]) -> Refusal | None:
        def all_of(name: bytes) -> list[str]:
            return [value for key, value in headers if key == name]

        hosts = all_of(b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:  # DNS may have led any name here.
            return Refusal(HTTPStatus.FORBIDDEN, f"Host must be one of {', '.join(sorted(self.hosts))}")
        own = f"http://{hosts[0]}".lower()
        if any(origin.lower() != own for origin in all_of(b"origin")):
            return Refusal(HTTPStatus.FORBIDDEN, "pages of other origins are not answered")
        if self.is_in_header:
            if not any(self._is_token(_token_in(value)) for value in all_of(b"authorization")):
                return Refusal(HTTPStatus.UNAUTHORIZED, "the header Authorization has to be: Token, and the token")
        elif not self._is_token(scope["path"].split("/")[1]) or scope["path"].count("/") < 2:
            return Refusal(HTTPStatus.FORBIDDEN, "the address has to be the whole one that the server has printed")
        if scope["method"] != "POST":
            return None
        if [value.partition(";")[0].strip().lower() for value in all_of(b"content-type")] != ["application/json"]:
            return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
        lengths = all_of(b"content-length")
        if len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdecimal()):
            return Refusal(HTTPStatus.LENGTH_REQUIRED, "Content-Length must be the number of bytes")
        if int(lengths[0]) > self.max_body:
            return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {self.max_body:,} bytes")
        return None

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


async def _answer(send: Send, refusal: Refusal) -> None:
    body = json.dumps({"error": refusal.says}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": int(refusal.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})

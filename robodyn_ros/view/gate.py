# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Access control of the arm in a browser: the checks of every request before viser answers it.

A page of any site can send requests to a server on this machine through the user's browser. So the address alone does
not open the page:

- **Host** names this machine. A name that an attacker has redirected here (DNS rebinding) is refused.
- **Origin**, which browsers add to every WebSocket, is that of the page itself. Pages of other origins are refused.
- **A token**, drawn at random for each start, is in the printed address. The first page that is opened with it stores
  it in a cookie, which browsers send to this server but not with a request of another site.

The page may load from and connect to this server only (Content Security Policy, W3C), so that an attacker's address
cannot load other content, and no other page may frame it.
"""

from __future__ import annotations

import gzip
import ipaddress
import logging
import re
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from robodyn_ros.errors import ConfigurationError

TOKEN_BYTES = 16
"""Random bytes of a token: 128 bits cannot be guessed."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",  # viser's page unpacks itself
        "script-src-attr 'none'",
        "worker-src blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "frame-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""The page's permissions to load and connect."""

HOST = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?", re.IGNORECASE)
"""A Host header: a name or an address, and perhaps a port (RFC 9110, section 7.2)."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""Headers of every answer."""


TITLE = b"<title>Viser</title>"
"""The title in viser's page."""

EXPOSED = (
    "other machines reach the viewer: anyone with its address and token sees and moves the arm, and nothing is "
    "encrypted; `ssh -L PORT:localhost:PORT` lets in one other machine, and encrypts"
)
"""The warning for a server that listens at more than this machine."""


def _asked_for_something(record: logging.LogRecord) -> bool:
    """False for a connection without a request, which is no error: browsers open some ahead, and close them unused."""
    from websockets.exceptions import InvalidMessage

    return not (record.exc_info and isinstance(record.exc_info[1], InvalidMessage))


class Gate:
    """Passes requests that come from this server's own page, opened with the token.

    Attributes:
        token: opens the page.
        port: that the server tries, at last its own.
        head: HTML for the head of the page.
    """

    def __init__(self, host: str, port: int, title: str = "") -> None:
        """
        Args:
            host: address that the server listens at.
            port: the first that it tries.
            title: of the page, in the browser's tab; viser's unless given.
        """
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._host, self.port, self._title = host, port, title
        self.head = ""
        self._pages: dict[bool, bytes] = {}  # packed by gzip or not → the page with its title
        self._names = {"localhost", host.lower()}
        if is_exposed(host):
            name = socket.gethostname().lower()
            self._names |= {name, f"{name}.local", socket.getfqdn().lower()}

    @property
    def url(self) -> str:
        """The address that opens the page, on this machine."""
        return f"http://{_address(self._host)}:{self.port}/?token={self.token}"

    def refusal(self, path: str, headers: Mapping[str, Any]) -> str:
        """The reason for refusing a request; "" if it is passed.

        Args:
            path: path and query of the request.
            headers: its headers, as ``websockets.Headers``.
        """
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")  # type: ignore[attr-defined]
        if len(hosts) != 1 or not self._is_this_machine(hosts[0]):
            return f"this server is not {', '.join(hosts) or 'without a name'}"
        upgrades = bool(headers.get_all("Upgrade"))  # type: ignore[attr-defined]
        if len(origins) > 1 or (upgrades and not origins) or any(origin != f"http://{hosts[0]}" for origin in origins):
            return "only the page of this server may connect to it"
        if not self._has_token(path, headers.get_all("Cookie")):  # type: ignore[attr-defined]
            return "open the address that the viewer has printed: it ends in a token, which is new for each start"
        return ""

    def cookie(self, path: str) -> str:
        """The header Set-Cookie for the answer to a request with the token in its address; "" for every other."""
        if not self._is_token(parse_qs(urlsplit(path).query).get("token", [""])[0]):
            return ""
        return f"{self._cookie_name}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    @property
    def _cookie_name(self) -> str:
        return f"robodyn_{self.port}"  # cookies of all ports of a machine share their names

    def _has_token(self, path: str, cookies: list[str]) -> bool:
        if self.cookie(path):
            return True
        for text in cookies:
            with suppress(CookieError):
                morsel = SimpleCookie(text).get(self._cookie_name)
                if morsel is not None and self._is_token(morsel.value):
                    return True
        return False

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def _is_this_machine(self, host: str) -> bool:
        """True if a Host header names this server, also with another port, that of a tunnel."""
        parts = HOST.fullmatch(host)
        if parts is None:
            return False
        name = parts[1].strip("[]").lower()
        if name in self._names:
            return True
        address = _ip_address(name)
        return address is not None and (address.is_loopback or is_exposed(self._host))

    @contextmanager
    def installed(self) -> Iterator[None]:
        """In this context, a new server of viser has this gate.

        Raises:
            ConfigurationError: this version of viser makes its server differently, and would have no gate.
        """
        import websockets.asyncio.server

        logging.getLogger("websockets.server").addFilter(_asked_for_something)
        module: Any = websockets.asyncio.server
        serve, is_made = module.serve, False

        def guarded(handler: Any, host: str, port: int, *, process_request: Any, **options: Any) -> Any:
            nonlocal is_made
            is_made, self.port = True, port
            return serve(handler, host, port, process_request=partial(self._answer, process_request), **options)

        module.serve = guarded
        try:
            yield
        finally:
            module.serve = serve
        if not is_made:
            raise ConfigurationError("this version of viser cannot be guarded; install viser 1.1")

    def _answer(self, answer: Callable[[Any, Any], Any], connection: Any, request: Any) -> Any:
        """Viser's answer to a request, behind the gate."""
        why = self.refusal(request.path, request.headers)
        response = connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n") if why else answer(connection, request)
        if response is not None:  # a page, not the begin of a WebSocket
            if not why and urlsplit(request.path).path == "/":
                self._entitle(response)
            for name, value in HEADERS.items():
                response.headers[name] = value
            cookie = "" if why else self.cookie(request.path)
            if cookie:
                response.headers["Set-Cookie"] = cookie
        return response

    def _entitle(self, response: Any) -> None:
        """Give the page its title, and the contents of its head."""
        packed = response.headers.get("Content-Encoding") == "gzip"
        if packed not in self._pages:
            body = gzip.decompress(response.body) if packed else response.body
            title = f"<title>{escape(self._title)}</title>" if self._title else TITLE.decode()
            body = body.replace(TITLE, f"{title}{self.head}".encode(), 1)
            self._pages[packed] = gzip.compress(body) if packed else body
        response.body = self._pages[packed]
        if "Content-Length" in response.headers:
            del response.headers["Content-Length"]
            response.headers["Content-Length"] = str(len(response.body))


def is_exposed(host: str) -> bool:
    """True if other machines reach a server that listens at an address."""
    address = _ip_address(host)
    return host.lower() != "localhost" if address is None else not address.is_loopback


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text is; None for a name."""
    with suppress(ValueError):
        return ipaddress.ip_address(host)
    return None


def _address(host: str) -> str:
    """The host in a browser's address bar for an address that a server listens at."""
    address = _ip_address(host)
    if address is None:
        return host
    if address.is_unspecified:
        return "localhost"
    return f"[{host}]" if address.version == 6 else host

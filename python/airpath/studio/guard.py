"""Access control of the server: only the one browser that came with the token, and no other page in it.

The server answers on 127.0.0.1, where programs and every website that a browser shows can reach it. So each
request, for a file or for the WebSocket, is checked here before anything else happens:

* `Host` is exactly ours, or a foreign name was made to lead here (DNS rebinding).
* `Origin` is ours or, for files alone, absent: other pages may ask, and get nothing.
* The printed address has a token that works once. It becomes a cookie that scripts cannot read and that no
  other site's request carries; its name has the port, as cookies know none.
* A browser sends the cookie to every port of 127.0.0.1, where other users may listen. So the WebSocket, which
  runs things, requires a second key: only the page that was let in has it, and keeps it by its origin, port
  included.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import NamedTuple, Protocol

TOKEN_BYTES = 32
ONCE = "The address that airpath studio printed works once, in one browser. Start it again for a new one."
ALWAYS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every answer."""


class Headers(Protocol):
    """The headers of a request."""

    def get_all(self, key: str, /) -> Sequence[str]:
        """All values of a header."""
        ...


class Refusal(NamedTuple):
    """Why a request is refused: HTTP status, and words for the one who asked."""

    status: int
    why: str


@dataclass(frozen=True)
class Guard:
    """The rules of one server."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)
    page_key: str = field(default_factory=lambda: secrets.token_urlsafe(TOKEN_BYTES), repr=False)

    @property
    def host(self) -> str:
        """The only `Host`."""
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> str:
        """The only `Origin`."""
        return f"http://{self.host}"

    @property
    def address(self) -> str:
        """The address that lets a browser in, once."""
        return f"{self.origin}{self._entrance}"

    @property
    def _entrance(self) -> str:
        return f"/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie that the token becomes, as `Set-Cookie` has it."""
        return f"{self._cookie_name}={self.key}; Path=/; HttpOnly; SameSite=Strict"

    @property
    def _cookie_name(self) -> str:
        return f"airpath-studio-{self.port}"

    def refusal(
        self, method: str, target: str, headers: Headers, *, is_socket: bool, is_used: bool
    ) -> Refusal | None:
        """Say why a request is refused, or None if it is not.

        Parameters
        ----------
        method, target, headers
            The request as it came.
        is_socket : bool
            Whether it requests the WebSocket.
        is_used : bool
            Whether the token was used before.
        """
        if method != "GET":
            return Refusal(405, "Only GET is answered here.")
        if list(headers.get_all("Host")) != [self.host]:
            return Refusal(421, f"This is {self.host} and no other host.")
        origins = list(headers.get_all("Origin"))
        if origins != [self.origin] and (origins or is_socket):
            return Refusal(403, "Another page asks: it gets nothing.")
        if is_socket:
            is_let_in = self._has_key(headers) and _is_same(target.partition("?")[2], f"key={self.page_key}")
        else:
            is_let_in = self._has_key(headers) or (self.has_token(target) and not is_used)
        if is_let_in:
            return None
        return Refusal(403, ONCE)

    def has_token(self, target: str) -> bool:
        """Whether a request's target is the start page with the right token."""
        return _is_same(target, self._entrance)

    def _has_key(self, headers: Headers) -> bool:
        pairs = [
            pair.strip().partition("=") for line in headers.get_all("Cookie") for pair in line.split(";")
        ]
        return any(name == self._cookie_name and _is_same(value, self.key) for name, _, value in pairs)


def _is_same(given: str, secret: str) -> bool:
    """Compare in a time that tells nothing about the secret."""
    return compare_digest(given.encode(errors="replace"), secret.encode())

"""Access to a page on this machine: for whoever has its key and uses this machine's name, and for nobody else."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["AccessKey", "ServedSite", "require_key"]

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
HOSTS = ("127.0.0.1", "localhost")
"""Host names by which a browser may call this server: any other comes from a page that had its name point here."""
CONTINUE_PAGE = """<!doctype html><html lang="en"><title>{title}</title><link rel="icon" href="{icon}">
<meta http-equiv="refresh" content="0;url=/">
<p><a href="/">To the {what}</a></p></html>"""
NO_KEY = "This is a {what}, and this browser has not got its key. Open the whole address that `{command}` printed."


@dataclass(frozen=True)
class ServedSite:
    """A site that is served to this machine.

    Attributes:
        title: of the page that takes the key.
        what: the same in a sentence.
        command: that starts it.
        icon: its address.
        headers: of every answer, beside the ones that all have.
    """

    title: str
    what: str
    command: str
    icon: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AccessKey:
    """The key to a site: ``token`` in the address, or ``cookie`` with it; ``ticket`` is a token that opens once.

    The address that a browser is started with stands in the list of processes, which every user of the machine can
    read: it holds the ticket.
    """

    token: str
    ticket: str
    cookie: str

    @classmethod
    def new(cls, cookie: str) -> AccessKey:
        """A key that nobody can guess."""
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32), cookie)


def require_key(routes: Sequence[BaseRoute], key: AccessKey, site: ServedSite) -> Starlette:
    """An application whose routes are open to who has the key, and to nobody else."""
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
        Middleware(_KeyMiddleware, key=key, site=site),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.router.redirect_slashes = False
    return app


class _KeyMiddleware:
    """Lets in who has the token or its cookie; puts the safety headers on every answer."""

    def __init__(self, app: ASGIApp, key: AccessKey, site: ServedSite) -> None:
        self.app, self.key, self.site, self.tickets = app, key, site, {key.ticket}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = {**HEADERS, **self.site.headers}
                more = [(name.encode(), text.encode()) for name, text in headers.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._respond(Request(scope))(scope, receive, safely)

    def _respond(self, request: Request) -> ASGIApp:
        token = request.query_params.get("token", "")
        if request.url.path == "/" and (self._is_token(token) or token in self.tickets):
            self.tickets.discard(token)
            # The page itself goes on: after a redirect, a strict cookie is not sent if a link elsewhere led here.
            response = Response(CONTINUE_PAGE.format(**vars(self.site)), media_type="text/html")
            response.set_cookie(self.key.cookie, self.key.token, path="/", httponly=True, samesite="strict")
            return response
        own = f"{request.url.scheme}://{request.headers.get('host')}"
        same_origin = request.headers.get("origin", own) == own
        allowed = same_origin and self._is_token(request.cookies.get(self.key.cookie, ""))
        return self.app if allowed else PlainTextResponse(NO_KEY.format(**vars(self.site)), 403)

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.key.token.encode())

"""The station's pages as an ASGI application: whoever lacks the token gets nothing, and nothing else is reachable."""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siming_tasks.errors import SimingError
from siming_tasks.plaintext import visible
from siming_tasks.station.playable import playable
from siming_tasks.station.work import Item, Refusal, Work

__all__ = ["POLICY", "application"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
STATIC = {
    "station.css": "text/css",
    "station.js": "text/javascript",
    "player.js": "text/javascript",
    "sheet.js": "text/javascript",
    "keys.js": "text/javascript",
    "line.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
HOSTS = ("127.0.0.1", "localhost")
"""What a browser may call this server: another name in its place comes from a page that had its name point here."""
MAX_BODY = 20_000
"""Bytes of an act: a comment of 2,000 characters and its keys."""
GO_ON = """<!doctype html><html lang="en"><title>Rating station</title><link rel="icon" href="/icon.svg">
<meta http-equiv="refresh" content="0;url=/">
<p><a href="/">To the rating station</a></p></html>"""
NO_KEY = (
    "This is a rating station, and this browser has not got its key. Open the whole address that `siming rate` printed."
)


class _Door:
    """Lets in who has the token or its cookie; puts the safety headers on every answer.

    A ticket is a token that opens once: the address that a browser is started with stands in the list of processes,
    which every user of the machine can read.
    """

    def __init__(self, app: ASGIApp, token: str, ticket: str, cookie: str) -> None:
        self.app, self.token, self.tickets, self.cookie = app, token, {ticket}, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), text.encode()) for name, text in HEADERS.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._answer(Request(scope))(scope, receive, safely)

    def _answer(self, request: Request) -> ASGIApp:
        given = request.query_params.get("token", "")
        if request.url.path == "/" and (self._right(given) or given in self.tickets):
            self.tickets.discard(given)
            # The page itself goes on: after a redirect, a strict cookie is not sent if a link elsewhere led here.
            response = Response(GO_ON, media_type="text/html")
            response.set_cookie(self.cookie, self.token, path="/", httponly=True, samesite="strict")
            return response
        own = f"{request.url.scheme}://{request.headers.get('host')}"
        at_home = request.headers.get("origin", own) == own
        return self.app if at_home and self._right(request.cookies.get(self.cookie, "")) else _stranger()

    def _right(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.token.encode())


def application(work: Work, *, token: str, ticket: str, cookie: str, cache: Path) -> Starlette:
    """The application that serves one rater's work.

    Args:
        work: what is served; it is asked from several threads.
        token: what the address must hold.
        ticket: the same, but for one time only.
        cookie: its name in the browser.
        cache: the cache folder.
    """

    def item_of(request: Request) -> Item | None:
        number = int(request.path_params["number"])
        return work.items[number] if number < len(work.items) else None

    def media(request: Request) -> Response:
        item = item_of(request)
        if item is None or work.mode == "model":  # who answers as a model sees what the model sees
            return _nothing()
        if changed := item.exam.changed():
            return PlainTextResponse(visible(changed), 409)
        try:
            path, kind = playable(item.exam, cache)
        except SimingError as error:
            return PlainTextResponse(visible(str(error)), 409)
        return FileResponse(path, media_type=kind)

    def frame(request: Request) -> Response:
        item = item_of(request)
        path = work.picture(item, int(request.path_params["frame"])) if item else None
        return FileResponse(path, media_type="image/jpeg") if path else _nothing()

    def opened(body: dict[str, Any]) -> dict[str, Any]:
        return work.open(_number(body, work), body.get("id"))

    def acted(body: dict[str, Any]) -> dict[str, Any]:
        return work.act(_number(body, work), body.get("id"), body.get("step"), body.get("kind"), body.get("value"))

    routes = [
        Route("/", _static("page.html", "text/html")),
        *(Route(f"/{name}", _static(name, kind)) for name, kind in STATIC.items()),
        Route("/work", lambda request: JSONResponse(work.start())),
        Route("/open", _told(opened), methods=["POST"]),
        Route("/act", _told(acted), methods=["POST"]),
        Route("/media/{number:int}", media),
        Route("/frame/{number:int}/{frame:int}", frame),
    ]
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS, www_redirect=False),
        Middleware(_Door, token=token, ticket=ticket, cookie=cookie),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.router.redirect_slashes = False
    return app


def _stranger() -> Response:
    return PlainTextResponse(NO_KEY, 403)


def _nothing() -> Response:
    return PlainTextResponse("Not Found", 404)


def _static(name: str, kind: str) -> Callable[[Request], Response]:
    content = (resources.files("siming_tasks.station") / "static" / name).read_bytes()
    return lambda request: Response(content, media_type=kind)


def _told(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes a JSON object and answers with one, or with a sentence about why not."""

    async def endpoint(request: Request) -> Response:
        raw = b""
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > MAX_BODY:
                return JSONResponse({"error": "Too long."}, 413)
        try:
            body = json.loads(raw) if request.headers.get("content-type") == "application/json" else None
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return JSONResponse({"error": "Not a JSON object."}, 400)
        try:
            return JSONResponse(await run_in_threadpool(answer, body))
        except Refusal as refused:
            return JSONResponse({"error": visible(str(refused))}, 409)
        except SimingError as error:  # the disk is full, the video went away
            return JSONResponse({"error": visible(str(error))}, 500)

    return endpoint


def _number(body: dict[str, Any], work: Work) -> int:
    number = body.get("item")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(work.items):
        raise Refusal("There is no such exam.")
    return number

"""The station's pages as an ASGI application: nothing is served without the key, and nothing else is reachable."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from siming_tasks.common.errors import SimingError
from siming_tasks.common.sanitize import visible
from siming_tasks.tools.local_server.local_server import not_found, play, require_key
from siming_tasks.tools.station.words import LANGUAGES, language_of, say
from siming_tasks.tools.station.worklist import Item, Refusal, Work

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": POLICY, "cache-control": "no-store"}
STATIC = {
    "text/html": ("page.html",),
    "text/css": ("station.css",),
    "text/javascript": tuple(f"{name}.js" for name in ("station", "player", "sheet", "keys", "line", "words")),
    "image/svg+xml": ("icon.svg",),
    "application/json": ("words.json",),
}
"""The page and its parts by media type; the page's address is ``/``."""
MAX_BODY = 20_000
"""Bytes of an event: a comment of 2,000 characters and its keys."""
ACT = ("id", "step", "kind", "value", "was")
"""Keys of an event, in addition to its item."""


def application(work: Work, *, key: str, cache: Path) -> Starlette:
    """The application that serves one rater's work to who has the key; ``work`` is asked from several threads."""

    def item_of(request: Request) -> Item | None:
        text = request.path_params["number"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else len(work.items)
        return work.items[number] if number < len(work.items) else None

    def media(request: Request) -> Response:
        item = item_of(request)
        if item is None:
            return not_found()
        if changed := item.exam.changed():
            return PlainTextResponse(changed.within(_language(request)), 409)
        return play(lambda: (item.exam.path, item.exam.digest), cache, 409)

    def news(request: Request) -> Response:
        item = item_of(request)
        return JSONResponse(work.news(item)) if item else not_found()

    def number_of(body: dict[str, Any]) -> int:
        if body.get("item") not in work.names:
            raise Refusal("no_such_exam")
        return work.names.index(str(body["item"]))

    routes = [
        *(_static(name, kind) for kind, names in STATIC.items() for name in names),
        Route("/work", lambda request: JSONResponse(work.start())),
        Route("/open", _answer_json(lambda body: work.open(number_of(body), body.get("id"))), methods=["POST"]),
        Route("/act", _answer_json(lambda body: work.event(number_of(body), *map(body.get, ACT))), methods=["POST"]),
        Route("/news/{number}", news),
        Route("/media/{number}", media),
    ]
    return require_key(routes, key, HEADERS, "\n".join(say("no_key", each) for each in LANGUAGES))


def _language(request: Request) -> str:
    return language_of(request.headers.get("accept-language", ""))


def _static(name: str, kind: str) -> Route:
    content = (resources.files("siming_tasks.tools.station") / "static" / name).read_bytes()
    address = "/" if name == "page.html" else f"/{name}"
    return Route(address, lambda request: Response(content, media_type=kind))


def _answer_json(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes a JSON object and answers with one, or with a sentence about why not."""

    async def endpoint(request: Request) -> Response:
        raw, language = b"", _language(request)
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > MAX_BODY:
                return JSONResponse({"error": say("too_long", language)}, 413)
        try:
            body = json.loads(raw) if request.headers.get("content-type") == "application/json" else None
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return JSONResponse({"error": say("not_json", language)}, 400)
        try:
            return JSONResponse(await run_in_threadpool(answer, body))
        except Refusal as refusal:
            return JSONResponse({"error": visible(refusal.sentence.within(language))}, 409)
        except SimingError as error:  # the disk is full, the video went away
            return JSONResponse({"error": say("failed", language, reason=visible(str(error)))}, 500)

    return endpoint

"""Pages on this machine: below a secret key, only under this machine's name, with videos that browsers play."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siming_tasks.common.errors import OptionsError, SimingError
from siming_tasks.common.sanitize import visible
from siming_tasks.media import VIDEO, FrameStore, add_sound, has_sound, read_timeline, sound_of, view
from siming_tasks.media.container import open_video

_HOST = "127.0.0.1"
_HOSTS = (_HOST, "localhost")
"""Host names by which a browser may call this server: any other comes from a page that had its name point here."""
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_CODECS = {".mp4": ("h264", "av1", "vp9"), ".m4v": ("h264",), ".mov": ("h264",), ".webm": ("vp8", "vp9", "av1")}
"""Containers and codecs that today's browsers play without help."""


class _KeyMiddleware:
    """Lets in whoever asks below the key, which is taken off the path; puts the safety headers on every answer."""

    def __init__(self, app: ASGIApp, key: str, headers: Mapping[str, str], no_key: str) -> None:
        self.app, self.key, self.no_key = app, key, no_key
        self.headers = [(name.encode(), text.encode()) for name, text in {**_HEADERS, **headers}.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(each for each in self.headers if each[0] not in own)]
            await send(message)

        await self._respond(Request(scope))(scope, receive, safely)

    def _respond(self, request: Request) -> ASGIApp:
        own = f"{request.url.scheme}://{request.headers.get('host')}"
        token, slash, rest = request.scope["path"].removeprefix("/").partition("/")
        allowed = slash and secrets.compare_digest(token.encode(), self.key.encode())
        if not allowed or request.headers.get("origin", own) != own:
            return PlainTextResponse(self.no_key, 403)
        request.scope["path"] = f"/{rest}"
        return self.app


def require_key(routes: Sequence[BaseRoute], key: str, headers: Mapping[str, str], no_key: str) -> Starlette:
    """An application whose routes are open only to those who have the key.

    A cookie would not do: browsers send those of 127.0.0.1 to all of its ports, whichever program listens there. An
    address goes to the server that it names alone, and pages may not tell it to others (``referrer-policy``).

    Args:
        routes: without the key.
        key: first part of every address, which nobody can guess.
        headers: of every answer that has no header of that name, in addition to the fixed ones.
        no_key: text for a visitor without the key.
    """
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False),
        Middleware(_KeyMiddleware, key=key, headers=headers, no_key=no_key),
    ]
    app = Starlette(routes=routes, middleware=middleware)
    app.router.redirect_slashes = False
    return app


def serve(
    application: Callable[[str], ASGIApp],
    *,
    port: int,
    usual_port: int = 0,
    browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve an application until the process is interrupted; returns then.

    Args:
        application: is given the key that opens it (:func:`require_key`).
        port: 0 takes ``usual_port`` if it is free, else a free one.
        usual_port: where a page that lost its server looks for the next one.
        browser: open the page in the user's browser.
        say: gets the address, which contains the key and so gives access.

    Raises:
        OptionsError: the port is taken.
    """
    try:
        bound = socket.create_server((_HOST, port or usual_port))
    except OSError as error:
        if port:
            what = f"--port {port}: {os.strerror(error.errno or 0)}. Leave it out for a free one."
            raise OptionsError(what) from None
        bound = socket.create_server((_HOST, 0))
    key = secrets.token_urlsafe(32)
    address = f"http://{_HOST}:{bound.getsockname()[1]}/"
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        application(key),
        log_config=None,
        access_log=False,  # it would hold the key
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    say(address := f"{address}{key}/")
    with ExitStack() as ends, suppress(KeyboardInterrupt):
        ends.callback(bound.close)
        if browser:
            # Every user of the machine can read what a browser is started with, so it is a file that leads on, which
            # its owner alone can read (mode 0600). A browser that may not either: the address is printed.
            page = ends.enter_context(tempfile.NamedTemporaryFile("w", suffix=".html", prefix="siming-"))
            page.write(f'<meta http-equiv="refresh" content="0;url={address}">')
            page.flush()
            webbrowser.open(Path(page.name).as_uri())
        uvicorn.Server(config).run(sockets=[bound])


def not_found() -> Response:
    """The answer for whatever is not served."""
    return PlainTextResponse("Not Found", 404)


def play(video: Callable[[], tuple[Path, str]], cache: Path, refused: int) -> Response:
    """A video as browsers play it: its own file where they can, else a copy of exactly its frames and its sound.

    Args:
        video: gives its path and the SHA-256 of its content, or refuses it with one of our messages.
        cache: the cache folder, where the copy is made on first use.
        refused: status of the answer when the file is refused or cannot be read.
    """
    try:
        path, digest = video()
        kind = "video/webm" if path.suffix.lower() == ".webm" else "video/mp4"
        with open_video(path) as (container, stream):
            context = stream.codec_context
            known = context.codec.canonical_name in _CODECS.get(path.suffix.lower(), ())
            plays = known and context.pix_fmt in ("yuv420p", "yuvj420p") and len(container.streams.video) == 1
        if not plays:
            whole = (0.0, read_timeline(path).duration)
            copy = view(path, digest=digest, span=whole, frames=1, mode=VIDEO, cache=cache)
            assert copy.path is not None
            path, kind = _with_sound(path, copy.path, FrameStore(cache, path, digest)), "video/mp4"
    except SimingError as error:
        return PlainTextResponse(visible(str(error)), refused)
    return FileResponse(path, media_type=kind)


def _with_sound(video: Path, copy: Path, store: FrameStore) -> Path:
    """A silent copy of a video with its sound and second 0, made once; the copy itself if the video is silent."""
    if not has_sound(video):
        return copy
    heard = copy.with_name(f"{copy.stem}-sound.mp4")
    sound = sound_of(store)  # stored under the same lock, hence before
    return store.make_file(heard, lambda: add_sound(copy, sound, heard, float(store.timeline().times[0])))

"""The station's server: on this machine only, at a port of its own, until it is interrupted."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from siming_tasks.errors import OptionsError
from siming_tasks.station.app import application
from siming_tasks.station.work import Work

__all__ = ["serve"]

HOST = "127.0.0.1"


def serve(work: Work, *, port: int, cache: Path, browser: bool, say: Callable[[str], None]) -> None:
    """Serve one rater's work until the process is interrupted; returns then.

    Args:
        work: what is served.
        port: 0 takes a free one.
        cache: the cache folder.
        browser: open the page in the user's browser.
        say: is told the address, which holds the token: whoever has it can rate in this rater's name.

    Raises:
        OptionsError: the port is taken.
    """
    try:
        bound = socket.create_server((HOST, port))
    except OSError as error:
        raise OptionsError(f"--port {port}: {os.strerror(error.errno or 0)}. Leave it out for a free one.") from None
    number = bound.getsockname()[1]
    token, ticket = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    address = f"http://{HOST}:{number}/?token="
    app = application(work, token=token, ticket=ticket, cookie=f"siming_rate_{number}", cache=cache)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # it would hold the token
        lifespan="off",
        ws="none",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    say(address + token)
    if browser:
        webbrowser.open(address + ticket)
    try:
        uvicorn.Server(config).run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        bound.close()

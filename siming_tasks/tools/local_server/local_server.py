"""A server on this machine only, at a port of its own, until it is interrupted."""

from __future__ import annotations

import logging
import os
import socket
import webbrowser
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from siming_tasks.common.errors import OptionsError
from siming_tasks.tools.local_server.access_key import AccessKey

__all__ = ["serve"]

HOST = "127.0.0.1"


def serve(
    application: Callable[[AccessKey], ASGIApp], *, name: str, port: int, browser: bool, say: Callable[[str], None]
) -> None:
    """Serve an application until the process is interrupted; returns then.

    Args:
        application: is given the key that opens it (:func:`siming_tasks.tools.local_server.access_key.require_key`).
        name: of the key's cookie; the port is added, since cookies do not know ports.
        port: 0 takes a free one.
        browser: open the page in the user's browser.
        say: is told the address, which holds the token: whoever has it gets in.

    Raises:
        OptionsError: the port is taken.
    """
    try:
        bound = socket.create_server((HOST, port))
    except OSError as error:
        raise OptionsError(f"--port {port}: {os.strerror(error.errno or 0)}. Leave it out for a free one.") from None
    number = bound.getsockname()[1]
    key = AccessKey.new(f"{name}_{number}")
    address = f"http://{HOST}:{number}/?token="
    app = application(key)
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
    say(address + key.token)
    if browser:
        webbrowser.open(address + key.ticket)
    try:
        uvicorn.Server(config).run(sockets=[bound])
    except KeyboardInterrupt:
        pass
    finally:
        bound.close()

"""The gate of recordings: requests with recordings of people go to those alone whom the data set names.

Above all clients, :func:`requests` says for whom requests are made, and :func:`built` asks the data set whenever a
recording is put into one. Below them, from the first recording on until the block ends and whatever the thread:

* the head of each HTTP request is held against the data set at every hop (:data:`siming_tasks.plugin.host.LIBRARIES`),
  which sees redirects, proxies and connections that were open before;
* so is each new TCP connection of Python, whatever opens it.

C libraries and child processes open connections that Python does not see.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import getproxies

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.data.consent import recipients, refuse_host, refuse_without_consent, stated_here
from siming_tasks.data.hosts import host_of, is_here, read_by
from siming_tasks.plugin import host

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Block:
    """Requests that are made for one recipient.

    Attributes:
        recipient: an address, or ``HERE`` or ``UNSTATED`` of :mod:`siming_tasks.data.consent`.
        refused: first refusal of something that was sent for a request with recordings.
    """

    recipient: str
    refused: DataError | None = None
    built: dict[Path, Dataset] = field(default_factory=dict)


_BLOCKS: list[Block] = []
_PLACES = ExitStack()
_WATCHED: set[str] = set()
_BUILT_HERE: ContextVar[Block | None] = ContextVar("BUILT_HERE", default=None)
"""Block for which a recording was built in this context: what is sent from here is sent with it."""
_NAMES: dict[str, str] = {}
"""Names by the address that was last looked up for them."""
_FIRST = "siming.first_host"


@contextmanager
def requests(recipient: str) -> Iterator[Block]:
    """While the block runs, requests with recordings are made for a recipient; blocks may overlap."""
    block = Block(recipient)
    _BLOCKS.append(block)
    _watch()
    try:
        yield block
    finally:
        _BLOCKS.remove(block)
        if not _BLOCKS:
            _PLACES.close()


def built(dataset: Dataset) -> None:
    """Ask whether a recording of a data set may be put into a request; from now on it may have been.

    Raises:
        DataError: the recipient may not have it, or nobody said who the recipient is.
    """
    if dataset.simulated.videos:
        return
    if not _BLOCKS:
        raise DataError(
            f"{dataset.name}: a request with recordings of people would be made, and for whom is not stated. Make it "
            "in a block `with siming_tasks.plugin.gate.requests(address):`."
        )
    block = _BLOCKS[-1]
    refuse_without_consent(dataset, block.recipient)
    block.built[dataset.root] = dataset
    _BUILT_HERE.set(block)
    _watch()


def _watch() -> None:
    """Replace the functions of those libraries that have been imported since this was last called."""
    _listen()
    new = {name: wrap for name, wrap in _WRAPS.items()
           if name not in _WATCHED and host.is_imported(name.partition(":")[0])}  # fmt: skip
    if not _WATCHED:
        _PLACES.callback(_WATCHED.clear)
    _PLACES.enter_context(host.replaced(new))
    _WATCHED.update(new)


def _ask(address: str, by: str = "", *, proxied: bool = True) -> None:
    """Refuse an address that the data sets in the requests that are made do not name (DataError)."""
    for dataset in [dataset for block in _BLOCKS for dataset in block.built.values()]:
        reader = read_by(address, stated_here(dataset)) if proxied else address
        try:
            refuse_host(dataset, host_of(reader) or reader, by=by)
        except DataError as error:
            if block := _BUILT_HERE.get():
                block.refused = block.refused or error
            else:
                _warn(str(error))
            raise


@cache
def _warn(text: str) -> None:
    logger.warning("siming-tasks: %s", text)


def _send(send: Any, client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    _ask(str(request.url))
    if hasattr(request, "extensions"):  # httpx hands them on from hop to hop
        request.extensions = {**request.extensions, _FIRST: host_of(str(request.url))}
    return send(client, request, *args, **kwargs)


def _hop(handle: Any, transport: Any, request: Any) -> Any:
    _ask(str(request.url), request.extensions.get(_FIRST, ""))
    return handle(transport, request)


def _requests_hop(rebuild_auth: Any, session: Any, prepared_request: Any, response: Any) -> Any:
    _ask(prepared_request.url, host_of(response.request.url))
    return rebuild_auth(session, prepared_request, response)


def _urllib_hop(redirect_request: Any, handler: Any, request: Any, *answer: Any) -> Any:
    _ask(answer[-1], host_of(request.full_url))
    return redirect_request(handler, request, *answer)


def _head(putrequest: Any, connection: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
    _ask(connection._tunnel_host or connection.host, proxied=False)
    if "://" in url:  # to a proxy
        _ask(url)
    return putrequest(connection, method, url, *args, **kwargs)


def _aiohttp_hop(send: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    _ask(str(request.url))
    return send(request, *args, **kwargs)


def _look_up(getaddrinfo: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
    found = getaddrinfo(name, *args, **kwargs)
    asked = name.decode("ascii", "replace") if isinstance(name, bytes) else str(name or "")
    _NAMES.update((host_of(str(address[0])), host_of(asked)) for *_, address in found)
    return found


_WRAPS: Mapping[str, host.Wrap] = {
    **{f"{module}:{client}.send": _send for module in ("httpx", "httpx2") for client in ("Client", "AsyncClient")},
    **{f"{module}:HTTPTransport.handle_request": _hop for module in ("httpx", "httpx2")},
    **{f"{module}:AsyncHTTPTransport.handle_async_request": _hop for module in ("httpx", "httpx2")},
    "requests:Session.rebuild_auth": _requests_hop,
    "urllib.request:HTTPRedirectHandler.redirect_request": _urllib_hop,
    "http.client:HTTPConnection.putrequest": _head,
    "aiohttp:ClientRequest.send": _aiohttp_hop,
    "socket:getaddrinfo": _look_up,
}


@cache
def _listen() -> None:
    """Have Python tell of every connection (an audit hook, which stays; it does nothing outside of a block)."""

    def connected(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg") and _BLOCKS:
            opened, address = arguments
            if opened.type == socket.SOCK_STREAM and opened.family in (socket.AF_INET, socket.AF_INET6) and address:
                _ask_connection(host_of(str(address[0])))

    sys.addaudithook(connected)


def _ask_connection(address: str) -> None:
    """Refuse a connection to an address that is not here, and that no name stands for that may receive (DataError)."""
    if not address or is_here(address):
        return
    if address not in _NAMES:  # looked up by other means, or before: by the names that are stated
        for name in {name for block in _BLOCKS for each in block.built.values() for name in recipients(each)}:
            try:
                socket.getaddrinfo(name, None)
            except OSError:
                continue
    proxies = {host_of(proxy) for scheme, proxy in getproxies().items() if scheme in ("https", "all")}
    if (name := _NAMES.get(address, address)) not in proxies:  # which sees what is encrypted: the heads are asked, too
        _ask(name, proxied=False)

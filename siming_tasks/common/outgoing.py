"""Requests and connections of Python before they are made, whatever the client and the thread: who is asked may refuse.

Functions of HTTP libraries are replaced where the head of a request is written, so that each hop is seen, with its
redirects and by connections that were open before. New connections are told by an audit hook of Python. C libraries and
child processes are not seen.
"""

from __future__ import annotations

import pkgutil
import socket
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Protocol
from urllib.request import getproxies

from siming_tasks.common.hosts import host_of, is_here


class Ask(Protocol):
    """Gets an address or a host before it is sent to, and the host that redirected the request; may raise an error."""

    def __call__(self, address: str, by: str = "", *, proxied: bool = True, connection: bool = False) -> object:
        """``proxied``: the environment may name a proxy before the address. ``connection``: no request is known of."""


_ASK: list[Ask] = []
_PUT_BACK: dict[str, Callable[[], None]] = {}
_NAMES: dict[str, str] = {}
"""Names by the address that was last looked up for them."""
_FIRST = "siming.first_host"


def watch(ask: Ask) -> None:
    """Ask before whatever is sent or opened, by the libraries that are imported by now; may be called again."""
    _ASK[:] = [ask]
    _listen()
    for name, (wrap, _) in LIBRARIES.items():
        module, _, path = name.partition(":")
        place, _, attribute = path.rpartition(".")
        if name not in _PUT_BACK and module in sys.modules:
            owner = pkgutil.resolve_name(f"{module}:{place}")
            before = getattr(owner, attribute)
            setattr(owner, attribute, _replacement(before, wrap))
            _PUT_BACK[name] = partial(setattr, owner, attribute, before)


def unwatch() -> None:
    """Ask no more; every function is what it was."""
    _ASK.clear()
    while _PUT_BACK:
        _PUT_BACK.popitem()[1]()


def _replacement(before: Any, wrap: Callable[..., Any]) -> Any:
    def replacement(*args: Any, **kwargs: Any) -> Any:
        return wrap(before, *args, **kwargs)

    return replacement


def _ask(address: str, by: str = "", *, proxied: bool = True, connection: bool = False) -> None:
    for ask in _ASK:
        ask(address, by, proxied=proxied, connection=connection)


def _send(send: Any, client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    _ask(str(request.url))
    if hasattr(request, "extensions"):  # httpx hands them on from hop to hop
        request.extensions = {**request.extensions, _FIRST: host_of(str(request.url))}
    return send(client, request, *args, **kwargs)


def _hop(handle: Any, transport: Any, request: Any) -> Any:
    _ask(str(request.url), request.extensions.get(_FIRST, ""))
    proxy = getattr(getattr(transport, "_pool", None), "_proxy_url", None)  # of the client; it reads plain http
    if proxy is not None and str(request.url).startswith("http:"):
        _ask(proxy.host.decode("ascii"), proxied=False)
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


LIBRARIES: Mapping[str, tuple[Callable[..., Any], str]] = {
    **{f"{name}:{client}.send": (_send, "the address of a request is asked")
       for name in ("httpx", "httpx2") for client in ("Client", "AsyncClient")},
    **{f"{name}:{handle}": (_hop, "and that of each hop, by connections that were open, too")
       for name in ("httpx", "httpx2")
       for handle in ("HTTPTransport.handle_request", "AsyncHTTPTransport.handle_async_request")},
    "requests:Session.rebuild_auth": (_requests_hop, "a redirect is asked, which names both hosts"),
    "urllib.request:HTTPRedirectHandler.redirect_request": (_urllib_hop, "the same"),
    "http.client:HTTPConnection.putrequest": (_head, "each hop of requests, urllib3 and urllib is asked"),
    "aiohttp:ClientRequest.send": (_aiohttp_hop, "each hop of aiohttp is asked"),
    "socket:getaddrinfo": (_look_up, "connections are made to addresses, and hosts are known by name"),
}  # fmt: skip
"""Functions of other libraries that are replaced from :func:`watch` to :func:`unwatch`, by what, and why."""


@cache
def _listen() -> None:
    """Have Python tell of every connection: an audit hook stays for good, and does nothing while nobody asks."""

    def connected(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.sendto", "socket.sendmsg") and _ASK:
            opened, address = arguments
            if opened.type == socket.SOCK_STREAM and opened.family in (socket.AF_INET, socket.AF_INET6) and address:
                _ask_connection(host_of(str(address[0])))

    sys.addaudithook(connected)


def _ask_connection(address: str) -> None:
    """Ask for a new connection, by the name that was looked up; a proxy for what is encrypted reads no request."""
    proxies = {host_of(proxy) for scheme, proxy in getproxies().items() if scheme in ("https", "all")}
    if address and not is_here(address) and (name := _NAMES.get(address, address)) not in proxies:
        _ask(name, proxied=False, connection=True)

"""Hosts of addresses: one form of each name, which of them are here, and who reads what is sent to them."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_LABEL = r"(?!-)[a-z0-9_-]{1,63}"
_NAME = re.compile(rf"(?:{_LABEL}\.)*(?!\d+$){_LABEL}")
_REGISTRY = re.compile(r"[a-z0-9-]+|(?:ac|co|com|edu|go|gov|ne|net|or|org)\.[a-z]{2}")
"""Domains under which anyone can have a name: ``com``, ``com.cn``."""


def host_of(address: str) -> str:
    """Host of an address, or of a host with or without a port, in its one form; empty where there is none.

    Names are in small letters, addresses as Python writes them, without brackets.

    Example:
        >>> [host_of(each) for each in ("https://API.openai.com.:443/v1", "[::1]:8000", "::FFFF:127.0.0.1", "")]
        ['api.openai.com', '::1', '127.0.0.1', '']
    """
    try:
        name = address if _ip(address) else urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:  # a bracket without its other half
        return ""
    ip = _ip(name)
    return str(ip) if ip else name.lower().removesuffix(".")


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip


def stated_host(text: str, *, ours: bool = False) -> str:
    """Host of an entry of ``consent`` in its one form; ``ours``: of ``here``, where a name without a dot is one.

    Raises:
        ValueError: it is not a single host, or would match other people's hosts; says what to write.
    """
    host = host_of(text.strip())
    if not host or not (_ip(host) or _NAME.fullmatch(host)):
        raise ValueError(f"{text!r} is not a host name. Write one like api.example.com or 192.0.2.7")
    if re.search(r"[/@?#]", text):
        raise ValueError(f"{text!r} is an address; consent is given to a host. Write {host}")
    if ":" in text and not _ip(text.strip().strip("[]")):
        raise ValueError(f"{text!r} names a port; consent is given to a host. Write {host}")
    if not ours and _REGISTRY.fullmatch(host):
        raise ValueError(
            f"{text!r} would match every name that ends in it. Write the service's full name, like "
            "api.example.com; for your own machine write `here`"
        )
    return host


def is_named(host: str, names: Collection[str]) -> bool:
    """Test whether a host in its one form is one of these, or a name that ends in one after a dot."""
    return host in names or any(host.endswith(f".{name}") for name in names if not _ip(name))


def is_here(address: str, ours: Collection[str] = ()) -> bool:
    """Test whether an address is on this machine or another machine of the user.

    Args:
        address: an address, or a host with or without a port.
        ours: hosts that count as this machine.

    Example:
        >>> [is_here(each) for each in ("http://127.0.0.1:8000/v1", "localhost", "http://[::1]/", "node7", "10.0.0.1")]
        [True, True, True, False, False]
    """
    host = host_of(address)
    if not host or host in ours:
        return bool(host)
    ip = _ip(host)
    if ip is None:
        return host in ("localhost", host_of(socket.gethostname()))
    return ip.is_loopback or ip.is_unspecified or (_is_own(host) and not _is_own("192.0.2.1"))


def _is_own(ip: str) -> bool:
    """Test whether an address is one of this machine's: a socket can take it (nobody's is 192.0.2.1: RFC 5737)."""
    with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((ip, 0))
        except OSError:
            return False
    return True


def read_by(address: str, ours: Collection[str] = ()) -> str:
    """Address of who gets what is sent to an address: of a proxy, where one is set for it and is not here.

    A proxy reads what is not encrypted, and its ``localhost`` is another machine.
    """
    scheme, proxies = urlsplit(address).scheme if "//" in address else "https", getproxies()
    proxy = "" if proxy_bypass(host_of(address)) else proxies.get(scheme) or proxies.get("all") or ""
    through = proxy and not is_here(proxy, ours) and (is_here(address, ours) or scheme != "https")
    return proxy if through else address

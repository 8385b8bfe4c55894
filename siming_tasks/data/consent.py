"""Recordings that leave this machine: to whom they may go, and copies that tell nothing but what they show.

``dataset.yaml`` states who may receive frames, sound or files (``consent: {services: [api.example.com]}``, or ``any``).
Whatever is on this machine is nobody's business; SYNTHETIC data show nobody.
"""

from __future__ import annotations

import ipaddress
import shutil
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.data.dataset import Dataset
from siming_tasks.media.plain_copy import copy_plain

ANY = "any"


def host_of(address: str) -> str:
    """Host of an address, or of a host name with or without a port; empty where there is none."""
    return urlsplit(address if "//" in address else f"//{address}").hostname or ""


def is_here(address: str) -> bool:
    """True if an address or a host name is on this machine.

    Example:
        >>> [is_here(each) for each in ("http://127.0.0.1:8000/v1", "localhost", "http://[::1]/", "node7", "10.0.0.1")]
        [True, True, True, False, False]
    """
    host = host_of(address)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_by(address: str) -> str:
    """Address of who gets what is sent to an address: of a proxy, where one is set for it and is not on this machine.

    A proxy reads what is not encrypted, and its ``localhost`` is another machine.
    """
    scheme, proxies = urlsplit(address).scheme if "//" in address else "https", getproxies()
    proxy = "" if proxy_bypass(host_of(address)) else proxies.get(scheme) or proxies.get("all") or ""
    through = proxy and not is_here(proxy) and (is_here(address) or scheme != "https")
    return proxy if through else address


def recipients(dataset: Dataset) -> tuple[str, ...]:
    """Names of those who may receive recordings of a data set, as it states them; ``any`` stands for everybody."""
    stated = (dataset.meta.get("consent") or {}).get("services") or ()
    return (stated,) if isinstance(stated, str) else tuple(stated)


def consent_in_words(dataset: Dataset) -> str:
    """A sentence on who may receive recordings of a data set."""
    if dataset.synthetic:
        return "SYNTHETIC: its recordings may go to any service."
    named = recipients(dataset)
    if ANY in named:
        return "Its recordings may go to any service, by the data set's own statement."
    return f"Its recordings may go to {', '.join(named)}." if named else (
        "Its recordings stay on this machine: the data set states nobody who may receive them."
    )  # fmt: skip


def refuse_without_consent(dataset: Dataset, recipient: str, what: str = "frames, sound or files") -> None:
    """Refuse to send recordings to who is not named in the data set, nor by a name that ends in one of those named.

    Args:
        dataset: whose recordings they are.
        recipient: an address or a host name, which a proxy may stand before; empty: not known who.
        what: is sent, for the message.

    Raises:
        DataError: the data set is real, the recipient elsewhere, and nobody agreed to that; says what is to be stated.
    """
    if dataset.synthetic:
        return
    recipient = read_by(recipient) if recipient else ""
    host, named = host_of(recipient) or recipient, recipients(dataset)
    allowed = ANY in named or any(host == name or host.endswith(f".{name}") for name in named)
    if allowed or (recipient and is_here(recipient)) or (named and not recipient):
        return
    example = host or "api.example.com"
    raise DataError(
        f"{dataset.name}: {what} of recordings of people would go to {host or 'a service'}, which is not on this "
        "machine, and the data set does not state that the people recorded and those responsible for the data agreed "
        f"to that. {consent_in_words(dataset)} If consent and ethics approval cover this recipient, state it in "
        f"dataset.yaml: `consent: {{services: [{example}]}}` (`siming data build --consent {example}`); else use a "
        "model on this machine."
    )


def copy_recording(dataset: Dataset, video: Video, target: Path) -> None:
    """Copy a video's file to where others get it: its pictures, its sound if the data set states it, and nothing else.

    Raises:
        DataError: the file may carry more (place, name, device, date), which cannot be left out.
    """
    if dataset.synthetic:
        shutil.copyfile(dataset.media_path(video), target)
        return
    try:
        copy_plain(dataset.media_path(video), target, sound=bool(dataset.meta.get("sound")))
    except MediaError as error:
        raise DataError(f"Video {video.video_id!r}: {error}") from None

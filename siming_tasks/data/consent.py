"""Recordings that leave this machine: to whom they may go, and copies that tell nothing but what they show.

``dataset.yaml`` states who may receive frames, sound or files (``consent: {services: [api.example.com]}``, or ``any``).
Whatever is on this machine is nobody's business; simulated videos show nobody.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.hosts import host_of, is_here, is_named, read_by
from siming_tasks.data.dataset import Dataset
from siming_tasks.media.plain_copy import copy_plain

ANY = "any"
HERE = "this machine"
"""Recipient that nothing is sent to: a model in this process, a folder."""
UNSTATED = "the recipient"
"""Recipient of whom only the data set's own statement is known."""


def recipients(dataset: Dataset) -> tuple[str, ...]:
    """Hosts of others that may receive recordings of a data set, as it states them; ``any`` stands for everybody."""
    stated = (dataset.meta.get("consent") or {}).get("services") or ()
    return (stated,) if isinstance(stated, str) else tuple(stated)


def stated_here(dataset: Dataset) -> tuple[str, ...]:
    """Hosts that count as here, as a data set states them."""
    return tuple((dataset.meta.get("consent") or {}).get("here") or ())


def consent_in_words(dataset: Dataset) -> str:
    """A sentence on who may receive recordings of a data set."""
    if dataset.simulated.videos:
        return "SYNTHETIC: its recordings may go to any service."
    named = recipients(dataset)
    if ANY in named:
        return "Its recordings may go to any service, as the data set states."
    return f"Its recordings may go to {', '.join(named)}." if named else (
        "Its recordings stay on this machine: the data set names no recipients."
    )  # fmt: skip


def may_receive(dataset: Dataset, host: str) -> bool:
    """Test whether a host is here, or is named by a data set (or ends in a stated name), or no person is shown."""
    named, host = recipients(dataset), host_of(host)
    return dataset.simulated.videos or ANY in named or is_named(host, named) or is_here(host, stated_here(dataset))


def refuse_without_consent(dataset: Dataset, recipient: str) -> None:
    """Refuse to send recordings to a recipient, or to the proxy before it that reads them, as :func:`refuse_host` does.

    Args:
        dataset: whose recordings they are.
        recipient: an address or a host name, :data:`HERE`, or :data:`UNSTATED`, of whom it must state somebody.
    """
    if recipient not in (HERE, UNSTATED):
        reader = read_by(recipient, stated_here(dataset))
        refuse_host(dataset, host_of(reader) or reader)
    elif recipient == UNSTATED and not recipients(dataset):
        refuse_host(dataset, UNSTATED)


def refuse_host(dataset: Dataset, host: str, *, by: str = "") -> None:
    """Refuse to send recordings to a host that the data set does not name, nor a name that it ends in.

    Args:
        dataset: whose recordings they are.
        host: of who reads them.
        by: host that redirected the request, if any.

    Raises:
        DataError: the data set is real, the host elsewhere, and nobody agreed to that; says what is to be stated.
    """
    if may_receive(dataset, host):
        return
    named, last = "HOST" if host == UNSTATED else host, host.rpartition(".")[2]
    way = f"`consent: {{services: [{named}]}}` (`siming data build --consent {named}`)"
    ours = f"for your own machine `consent: {{here: [{named}]}}`"
    if host == UNSTATED:
        way += ", where HOST is the host of your service, such as api.openai.com"
    elif ":" in host or last.isdigit() or last in ("local", "lan", "internal", "intranet"):
        way += f"; {ours}"
    elif "." not in host:  # such a name is not a service's
        way = ours
    redirected = f" ({by} redirected the request there)" if by not in ("", host) else ""
    raise DataError(
        f"{dataset.name}: frames, sound or files of recordings of people would go to {host}{redirected}, which is not "
        "on this machine, and the data set does not state that the people recorded and those responsible for the data "
        f"agreed to that. {consent_in_words(dataset)} If consent and ethics approval cover this recipient, state it in "
        f"dataset.yaml: {way}. Otherwise keep the recordings on this machine."
    )


def copy_recording(dataset: Dataset, video: Video, target: Path) -> None:
    """Copy a video's file to where others get it: its pictures, its sound if the data set states it, and nothing else.

    Raises:
        DataError: the file may carry more (place, name, device, date), which cannot be left out.
    """
    if dataset.simulated.videos:
        shutil.copyfile(dataset.media_path(video), target)
        return
    try:
        copy_plain(dataset.media_path(video), target, sound=bool(dataset.meta.get("sound")))
    except MediaError as error:
        raise DataError(f"Video {video.video_id!r}: {error}") from None

"""The gate of recordings: requests with recordings of people go to those alone whom the data set names.

Above all clients, :func:`requests` says for whom requests are made, and :func:`built` asks the data set whenever a
recording is put into one. Below them, from the first recording on until the block ends and whatever the thread, every
hop of a request and every new connection of Python is checked against the data set
(:mod:`siming_tasks.common.outgoing`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from siming_tasks.common import outgoing
from siming_tasks.common.errors import DataError
from siming_tasks.common.hosts import host_of, read_by
from siming_tasks.data import Dataset
from siming_tasks.data.consent import refuse_host, refuse_without_consent, stated_here
from siming_tasks.options import variable

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Block:
    """Requests that are made for one recipient.

    Attributes:
        recipient: an address, or ``HERE`` or ``UNSTATED`` of :mod:`siming_tasks.data.consent`.
        refused: first refusal of something that was sent for a request with recordings.
        built: data sets by folder whose recordings are in the requests.
    """

    recipient: str
    refused: DataError | None = None
    built: dict[Path, Dataset] = field(default_factory=dict)


_BLOCKS: list[Block] = []
_BUILT_HERE: ContextVar[Block | None] = ContextVar("BUILT_HERE", default=None)
"""Block for which a recording was built in this context: what is sent from here is sent with it."""


@contextmanager
def requests(recipient: str) -> Iterator[Block]:
    """While the block runs, requests with recordings are made for a recipient; blocks may overlap."""
    _BLOCKS.append(block := Block(recipient))
    outgoing.watch(_ask)
    try:
        yield block
    finally:
        _BLOCKS.remove(block)
        if not _BLOCKS:
            outgoing.unwatch()


def built(dataset: Dataset) -> None:
    """Ask whether a recording of a data set may be put into a request; from now on it may have been.

    Raises:
        DataError: the recipient may not have it, or nobody said who the recipient is.
    """
    if dataset.simulated.videos:
        return
    if not _BLOCKS:
        raise DataError(
            f"{dataset.name}: a request would send recordings of people to an unstated recipient. Make it in "
            "a block `with siming_tasks.data.gate.requests(address):`."
        )
    block = _BLOCKS[-1]
    refuse_without_consent(dataset, block.recipient)
    block.built[dataset.root] = dataset
    _BUILT_HERE.set(block)
    outgoing.watch(_ask)  # of libraries that were imported meanwhile, too


def _ask(address: str, by: str = "", *, proxied: bool = True, connection: bool = False) -> None:
    """Refuse an address that the data sets in the requests that are made do not name (DataError).

    Processes of one run connect to their master, ``MASTER_ADDR``, which is no recipient of a request.
    """
    if connection and host_of(address) == host_of(variable("MASTER_ADDR")):
        return
    for dataset in [dataset for block in _BLOCKS for dataset in block.built.values()]:
        reader = read_by(address, stated_here(dataset)) if proxied else address
        try:
            refuse_host(dataset, host_of(reader) or reader, by=by)
        except DataError as error:
            _warn(str(error))
            if block := _BUILT_HERE.get():
                block.refused = block.refused or error
            raise


@cache
def _warn(text: str) -> None:
    logger.warning("siming-tasks: %s", text)

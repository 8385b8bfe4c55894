"""Replies that were made by other harnesses, as a file that ``siming score`` takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.inspect_import import inspect_replies
from siming_tasks.tools.exchange.vlmevalkit_import import vlmevalkit_replies

__all__ = ["IMPORTERS", "import_replies"]

Reply = Mapping[str, Any]
"""``id`` of the request, ``reply`` or ``error``, perhaps ``usage``."""

IMPORTERS: Mapping[str, Callable[[Path, int | None], Iterator[tuple[str, Reply]]]] = {
    "inspect": inspect_replies,
    "vlmevalkit": vlmevalkit_replies,
}
"""By the harness's name: reads a file; gives the place of each reply (for errors) and the reply. The number is an epoch
(None: there is only one)."""


def import_replies(file: Path, form: str, out: Path, *, epoch: int | None = None) -> dict[str, int]:
    """Write the replies of another harness's file as lines ``{id, reply}``.

    Args:
        file: a VLMEvalKit result file, or an Inspect log.
        form: a key of :data:`IMPORTERS`.
        out: the file.
        epoch: which repetition of the questions; None: there is only one.

    Returns:
        How many replies there are of each setting.

    Raises:
        DataError: the file cannot be read, a reply is to no request of ours, or a request is answered twice.
    """
    counts: dict[str, int] = {}
    with atomic_write(out) as stream:
        for reply in _distinct_requests(IMPORTERS[form](file, epoch)):
            setting = reply["id"].partition("/")[0]
            counts[setting] = counts.get(setting, 0) + 1
            stream.write(json.dumps(reply, ensure_ascii=False) + "\n")
        if not counts:
            raise DataError(f"{file}: holds no reply to a request of `siming run requests`.")
    return counts


def _distinct_requests(replies: Iterable[tuple[str, Reply]]) -> Iterator[Reply]:
    places: dict[str, str] = {}
    for place, reply in replies:
        request = str(reply["id"])
        if request.partition("/")[0] not in TASKS or "/" not in request:
            fix = "Ask with the requests of `siming run requests`, and keep their ids."
            raise DataError(f"{place}: {request[:200]!r} is no id of a request. {fix}")
        if request in places:
            fix = "Keep one, or name the repetition (--epoch)."
            raise DataError(f"{place}: {request!r} is answered in {places[request]} already. {fix}")
        places[request] = place
        yield reply

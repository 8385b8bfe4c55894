"""The raw replies of a run as small script files, one for each video, which the viewer loads when they are looked at.

Pages opened from disk may not fetch(), but they may load scripts; a file is a list of ``SIMING.put(...)`` calls with
nothing but JSON in them. Files are appended to while the logs are read, so memory does not grow with the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible
from siming_tasks.report.escape import cut, script_json
from siming_tasks.results.record import Record, merge_parts
from siming_tasks.tasks import ABLATION_TASKS

__all__ = ["Replies", "raw_reply"]

_MEDIA = (
    "mode", "n_frames", "file_frames", "indices", "range", "start", "end", "fps", "file_fps", "size", "sampler",
    "reader", "density", "encoding",
)  # fmt: skip


def raw_reply(line: Mapping[str, Any]) -> str | None:
    """The reply in a line of a sample log or prediction file, as text; None if the line has none."""
    reply = next(
        (line[key] for key in ("filtered_resps", "resps", "response", "reply") if line.get(key) is not None), None
    )
    while isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    return reply if reply is None or isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


class Replies:
    """Writes ``<folder>/<video_id>.js`` for every video of a run, while the run is read.

    Args:
        slug: the run's.
        folder: of this run's files; is created.

    Attributes:
        found: number of requests with a reply; one that was asked again has its last. An exam that was asked about in
            parts counts once and has the replies to all of them.
    """

    def __init__(self, slug: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.slug, self.folder = slug, folder
        self.found = 0
        self._written: set[str] = set()
        self._parts: dict[str, dict[str, tuple[Record, str]]] = {}
        self._video = ""
        self._stream: IO[str] | None = None

    def put(self, record: Record, line: Mapping[str, Any]) -> None:
        """Write the reply of one record, if its line has one; consecutive records of a video share an open file.

        Replies to ablations are left out: no page shows them beside a video that they were not given to.
        """
        reply = None if record.setting in ABLATION_TASKS else raw_reply(line)
        if reply is not None:
            self.found += record.id not in self._written
            if part := record.conditions.part:
                said = self._parts.setdefault(record.id, {})
                said[part] = record, f"[{part}]\n{reply}"
                reply = "\n\n".join(text for _, text in said.values())
                record = merge_parts([one for one, _ in said.values()])
            self._write(record, reply)

    def put_rest(self, records: Iterable[Record]) -> None:
        """Parsed prediction files have records but no replies; what is known is shown all the same."""
        for record in records:
            if record.id not in self._written:
                self._write(record, None)

    def __enter__(self) -> Replies:
        """Use in a ``with`` block, which closes the file that is open last."""
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream:
            self._stream.close()

    def _write(self, record: Record, reply: str | None) -> None:
        if self._stream is None or record.video_id != self._video:
            if self._stream:
                self._stream.close()
            self._video = record.video_id
            self._stream = (self.folder / f"{self._video}.js").open("a", encoding="utf-8")
        self._stream.write(_call(self.slug, record, reply))
        self._written.add(record.id)


def _public(record: Record, reply: str) -> str:
    """The reply; a failed request's is the host's error text, which may hold an address or a header with a secret."""
    return str(redact(reply)) if record.status == "request_failed" else reply


def _call(slug: str, record: Record, reply: str | None) -> str:
    media = record.media
    entry = {
        "status": record.status,
        "answers": record.answers,
        "missing": record.missing,
        "prompt": record.conditions.prompt,
        "media": redact({key: media[key] for key in _MEDIA if media.get(key) is not None}),
        "length": None if reply is None else len(reply),
        "reply": None if reply is None else visible(cut(_public(record, reply))),
    }
    return f"SIMING.put({script_json([slug, record.id, entry])[1:-1]});\n"

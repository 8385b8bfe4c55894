"""The raw replies of a run as small script files, one for each video, which the viewer loads when they are looked at.

Pages opened from disk may not fetch(), but they may load scripts; a file is a list of ``SIMING.put(...)`` calls with
nothing but JSON in them. Files are appended to while the logs are read, so memory does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from siming_tasks.report.sources import Source, raw_replies
from siming_tasks.report.text import cut, script_json, visible

__all__ = ["write_replies"]

_MEDIA = ("mode", "n_frames", "indices", "range", "start", "end", "fps", "size", "sampler", "reader", "density")


def write_replies(source: Source, records: Mapping[str, Mapping[str, Any]], folder: Path) -> int:
    """Write ``<folder>/<video_id>.js`` for every video of the run.

    Args:
        source: the run.
        records: by request id, as they were scored; replies to other requests are left out.
        folder: of this run's files; is created.

    Returns:
        The number of replies written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: set[str] = set()
    with ExitStack() as stack:
        stream: IO[str] | None = None
        current = ""
        for name, reply in raw_replies(source.path):
            record = records.get(name)
            if record is None or name in written:
                continue
            if stream is None or record["video_id"] != current:
                stack.close()
                current = record["video_id"]
                stream = stack.enter_context((folder / f"{current}.js").open("a", encoding="utf-8"))
            written.add(name)
            stream.write(_call(source.slug, record, reply))
    _without_reply(source.slug, records, written, folder)
    return len(written)


def _without_reply(slug: str, records: Mapping[str, Mapping[str, Any]], written: Collection[str], folder: Path) -> None:
    """Parsed prediction files have records but no replies; what is known is shown all the same."""
    for name, record in records.items():
        if name not in written:
            with (folder / f"{record['video_id']}.js").open("a", encoding="utf-8") as stream:
                stream.write(_call(slug, record, None))


def _call(slug: str, record: Mapping[str, Any], reply: str | None) -> str:
    media = record.get("media") or {}
    entry = {
        "status": record["status"],
        "answers": record["answers"],
        "missing": record.get("missing") or {},
        "prompt": record.get("prompt"),
        "media": {key: media[key] for key in _MEDIA if media.get(key) is not None},
        "length": None if reply is None else len(reply),
        "reply": None if reply is None else visible(cut(reply)),
    }
    return f"SIMING.put({script_json([slug, record['id'], entry])[1:-1]});\n"

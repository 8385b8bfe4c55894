"""Data files of the video viewer: replies, rubric, prompts, frame times, transcripts, reasons of lost points, links.

Pages opened from disk may not fetch(), but they may load scripts. So each file is a script of lines
``SIMING.<function>(<values>);`` whose values are JSON, and the viewer loads it when it is looked at: ``rubric`` (steps
by id), ``prompt`` (name and text), ``frames`` (seconds), ``transcript`` (start, end, words, speaker), and ``packed``
(text: base64 of gzip of a JSON list of run, request and entry), the replies, nearly all of a report's bytes.

A prompt is named by the hash that the run's records state, so that a prompt of another version is never shown for it.
Model text is data: it is cut to a bearable length and written so that no page takes it for markup or script.
``media.json`` alone is not a script: from it ``siming view`` reads the links to the videos again.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np
import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.record import Record, merge_parts
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.benchmark.tasks import ABLATION_TASKS, TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, step_spans
from siming_tasks.benchmark.tasks.prompt import build_prompt, prompt_hash
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.files import atomic_write, read_text
from siming_tasks.common.public_facts import public_media
from siming_tasks.common.sanitize import visible
from siming_tasks.data import Dataset
from siming_tasks.data.consent import copy_recording
from siming_tasks.data.transcript import transcript_of
from siming_tasks.media import read_timeline
from siming_tasks.study.results.unread_replies import without_middle

_MEDIA = (
    "mode", "n_frames", "file_frames", "indices", "range", "start", "end", "fps", "file_fps", "size", "sampler",
    "reader", "density", "encoding",
)  # fmt: skip
HEAD, TAIL = 8_000, 4_000
"""Characters of a long reply that are kept from its beginning and its end."""
MAX_LOG_BYTES = 20_000_000
"""Bytes of an event log that is read."""
CALLS = ("packed", "rubric", "prompt", "frames", "transcript")
"""Functions of the viewer that data files call."""
LINKS_FILE, MAX_LINKS_BYTES = "media.json", 64_000_000

Media = Literal["link", "copy", "none"]
FrameSpacing = Literal["even", "listed", "unknown"]


def script_json(value: Any) -> str:
    """JSON that can be put into a script or a page: pure ASCII, and without a character that HTML gives a meaning to.

    NaN and infinity become null.
    """
    try:
        data = orjson.dumps(value)  # ten times as fast, but neither for half surrogate pairs nor as pure ASCII
        text = data.decode("ascii")
    except UnicodeDecodeError:
        text = json.dumps(orjson.loads(data), separators=(",", ":"))
    except TypeError:
        known = json.loads(json.dumps(value), parse_constant=lambda name: None)
        text = json.dumps(known, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def script_call(function: str, *values: Any) -> str:
    """A line of a data file, which the viewer's ``SIMING.<function>`` is called by."""
    return f"SIMING.{function}({script_json(values)[1:-1]});\n"


def data_calls(text: str) -> str:
    """A data file written again from the JSON in it, so that nothing of it runs but the viewer's own functions.

    Raises:
        ValueError: it contains something else than calls of :data:`CALLS` with JSON in them.
    """
    written = []
    for line in text.splitlines():
        if not (call := re.fullmatch(r"SIMING\.(\w+)\((.*)\);", line)) or call[1] not in CALLS:
            raise ValueError("no data file of a report")
        try:
            written.append(script_call(call[1], *json.loads(f"[{call[2]}]")))
        except RecursionError:
            raise ValueError("no data file of a report") from None
    return "".join(written)


class ReplyFiles:
    """Writes ``<folder>/<video_id>.js`` for every video of a run, while the run is read: ``SIMING.packed`` calls.

    ``count`` is the number of requests with a reply; one that was asked again has its last. An exam that was asked
    about in parts counts once and has the replies to all of them.
    """

    def __init__(self, slug: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.slug, self.folder = slug, folder
        self.count = 0
        self._written: set[str] = set()
        self._parts: dict[str, dict[str, tuple[Record, str]]] = {}
        self._video = ""
        self._entries: list[tuple[str, str, dict[str, Any]]] = []

    def put(self, record: Record, reply: str | None) -> None:
        """Write the reply of one record, if its line had one; consecutive records of a video are written together.

        Replies to ablations are left out: no page shows them with a video that they are not about.
        """
        if reply is not None and record.setting not in ABLATION_TASKS:
            self.count += record.id not in self._written
            if part := record.conditions.part:
                parts = self._parts.setdefault(record.id, {})
                parts[part] = record, f"[{part}]\n{reply}"
                reply = "\n\n".join(text for _, text in parts.values())
                record = merge_parts([asked for asked, _ in parts.values()])
            self._write(record, reply)

    def put_rest(self, records: Iterable[Record]) -> None:
        """Write records without a reply, such as those of parsed prediction files."""
        for record in records:
            if record.id not in self._written:
                self._write(record, None)

    def __enter__(self) -> ReplyFiles:
        """Use in a ``with`` block, at whose end the last records are written."""
        return self

    def __exit__(self, *_: object) -> None:
        if self._entries:
            packed = gzip.compress(script_json(self._entries).encode("ascii"), 6, mtime=0)
            with (self.folder / f"{self._video}.js").open("a", encoding="utf-8") as stream:
                stream.write(script_call("packed", base64.b64encode(packed).decode("ascii")))
            self._entries = []

    def _write(self, record: Record, reply: str | None) -> None:
        if record.video_id != self._video:
            self.__exit__()
            self._video = record.video_id
        entry = {
            "status": record.status,
            "answers": record.answers,
            "missing": record.missing,
            "prompt": record.conditions.prompt,
            "media": public_media({key: record.media.get(key) for key in _MEDIA}),
            "length": None if reply is None else len(reply),
        }
        if reply is not None and record.status == "request_failed":
            # not the error text of lmms-eval, which may hold an address or a header
            known = (record.conditions.usage or {}).get("error")
            reply = f"request failed: {known or 'reason not recorded'}"
        entry["reply"] = None if reply is None else visible(without_middle(reply, HEAD, TAIL))
        self._entries.append((self.slug, record.id, entry))
        self._written.add(record.id)


def write_rubric_script(out: Path, rubric: Rubric) -> None:
    """Write ``rubric.js``: requirement, criteria and named errors of every step."""
    steps = {
        step.id: {
            "name": visible(step.name),
            "requirement": visible(step.requirement),
            "criteria": {name: visible(text) for name, text in step.criteria.model_dump().items()},
            "errors": [[visible(error.observable), error.deduct] for error in step.errors],
            "requires": [required.id for required in step.requires],
        }
        for step in rubric.steps
    }
    with atomic_write(out / "rubric.js") as stream:
        stream.write(script_call("rubric", steps))


class PromptFiles:
    """Writes ``prompts/<hash>.js`` into a report for every prompt that these settings ask, each once."""

    def __init__(self, out: Path, dataset: Dataset, settings: Iterable[str]) -> None:
        self.out, self.dataset = out, dataset
        self.settings = [TASKS[name] for name in settings]
        self._known: set[Any] = set()

    def write(self, video: Video) -> None:
        """The prompts of one video's questions."""
        for setting in self.settings:
            names = asked_steps(setting, video)
            for group in [(name,) for name in names] if setting.scope == "clip" else [names] if names else []:
                steps = [step for step in self.dataset.rubric.steps if step.id in group]
                spans = step_spans(setting, video, [step.id for step in steps])
                if (key := (setting.name, group, spans)) in self._known:
                    continue
                self._known.add(key)
                text = build_prompt(setting, steps, spans, self.dataset.rubric)
                name = prompt_hash(setting, text)
                with atomic_write(self.out / "prompts" / f"{name}.js") as stream:
                    stream.write(script_call("prompt", name, visible(text)))


def reasons_for_lost_points(dataset: Dataset, video: Video) -> dict[str, list[str]]:
    """Reasons by step why points were lost, in the rubric's words; empty without the simulator's event log.

    A log that cannot be read, or tells of other things, says nothing: it does not belong to the data set's contract.
    """
    path = dataset.root / "events" / f"{Path(video.video_id).name}.json"
    try:
        log = json.loads(read_text(path, MAX_LOG_BYTES)) if path.is_file() else {}
        lost_by_step = {str(step["step_id"]): list(map(dict, step["lost"])) for step in log.get("steps", ())}
    except (DataError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    labelled = {label.step_id for label in video.applicable if label.consensus is not None}
    rubric = dataset.rubric
    return {step: [_reason(loss, rubric) for loss in lost] for step, lost in lost_by_step.items() if step in labelled}


def _reason(loss: Mapping[str, Any], rubric: Rubric) -> str:
    cause, points = str(loss.get("cause")), loss.get("points")
    cost = f" (−{points:g})" if isinstance(points, int | float) else ""
    if loss.get("kind") in ("void", "cap"):
        name = f" {rubric.by_id[cause].name}" if cause in rubric.by_id else ""
        return f"{cause}{name} failed before{cost}"
    observable = (error.observable for step in rubric.steps for error in step.errors if error.id == cause)
    return f"{next(observable, cause)}{cost}"


def write_frame_times(out: Path, video_id: str, media: Path) -> FrameSpacing:
    """Write ``frames/<video_id>.js`` if the viewer needs it; returns what it may assume about the frames' spacing.

    Returns:
        ``even`` if no frame is further than half a period from an even spacing, ``listed`` if the file was written
        (seconds from where a player starts, thousandths), ``unknown`` if the media file cannot be read.
    """
    try:
        times = read_timeline(media).times
    except MediaError:
        return "unknown"
    even = np.linspace(0, times[-1], len(times))
    if len(times) < 3 or np.abs(times - even).max() <= even[1] / 2:
        return "even"
    with atomic_write(out / "frames" / f"{video_id}.js") as stream:
        stream.write(script_call("frames", times.round(3).tolist()))
    return "listed"


def write_transcript(out: Path, video: Video) -> bool:
    """Write ``transcripts/<video_id>.js``, what is said in a video; returns whether the data set states it."""
    if (transcript := transcript_of(video)) is None:
        return False
    said = [[line.start, line.end, visible(line.text), visible(line.who)] for line in transcript]
    with atomic_write(out / "transcripts" / f"{video.video_id}.js") as stream:
        stream.write(script_call("transcript", said))
    return True


class VideoLinker(NamedTuple):
    """Address of a video's file for pages one folder down: a relative link, a copy in the report, or none at all.

    ``out`` is where the report will be, ``part`` where it is being written.
    """

    media: Media
    dataset: Dataset
    out: Path
    part: Path

    def __call__(self, video: Video) -> str | None:
        """The address, percent-encoded; None without videos."""
        if self.media == "none":
            return None
        source = self.dataset.media_path(video)
        if self.media == "link":
            return quote(Path(os.path.relpath(source.resolve(), (self.out / "videos").resolve())).as_posix())
        target = self.part / "media" / f"{video.video_id}{source.suffix}"
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            copy_recording(self.dataset, video, target)
        return quote(f"../media/{target.name}")


@dataclass(frozen=True)
class MediaLinks:
    """Digest and name of the data set, and by video the link that pages one folder down have.

    There are none in a report without videos, or with copies of them.
    """

    dataset: str
    name: str
    videos: dict[str, str]


def write_media_links(folder: Path, links: MediaLinks) -> None:
    """Write the links into the report."""
    with atomic_write(folder / LINKS_FILE) as stream:
        json.dump(asdict(links), stream)


def read_media_links(folder: Path) -> MediaLinks:
    """The links of a report.

    Raises:
        DataError: the folder is not a report, or its links cannot be read.
    """
    path = folder / LINKS_FILE
    if not path.is_file():
        raise DataError(f"{folder}: no report. Give the folder that `siming report --out` wrote.")
    try:
        return TypeAdapter(MediaLinks).validate_json(read_text(path, MAX_LINKS_BYTES))
    except ValidationError:
        raise DataError(f"{path}: cannot be read. Write the report again.") from None

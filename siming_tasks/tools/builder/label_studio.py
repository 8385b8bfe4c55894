"""Label Studio's JSON export: timeline labels and video regions (frames), audio and time series labels (seconds).

A frame's time is its number divided by the rate, as Label Studio's own player and its ``time`` fields have it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qs, unquote, urlsplit

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_text
from siming_tasks.common.schema import is_number
from siming_tasks.data.jsonl import parse_value
from siming_tasks.tools.builder.annotation_marks import (
    MAX_BYTES,
    MAX_SECONDS,
    AnnotationFormat,
    Mark,
    Marks,
    joined,
    short,
)
from siming_tasks.tools.builder.mapping import Words
from siming_tasks.tools.builder.video_files import SUFFIXES

_UPLOAD = re.compile(r"^[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the name of an uploaded file."""
_RATES = ("fps", "framerate", "frame_rate", "frameRate")
_IGNORE = "Leave it out with `ignore:` in the mapping file (--columns), or correct it in Label Studio."


def read_label_studio(path: Path, words: Words, rate: Fraction | None = None, encoding: str | None = None) -> Marks:
    """The spans of all tasks.

    Raises:
        DataError: not JSON, or not Label Studio's.
    """
    try:
        tasks = parse_value(read_text(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"{path}: not JSON: {what}. Export it from Label Studio again, as JSON.") from None
    tasks = [tasks] if isinstance(tasks, dict) else tasks
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path}: not a list of tasks. Export it from Label Studio as JSON.")
    problems: list[Problem] = []
    timeless: Counter[str] = Counter()
    marks: list[Mark] = []
    for index, task in enumerate(tasks, 1):
        if not isinstance(task.get("annotations"), list):
            what = f"{path}: task {index} has no list `annotations`."
            raise DataError(f"{what} Export it from Label Studio as JSON (not JSON-MIN, CSV or tasks alone).")
        name = f"task {task.get('id', index) if isinstance(task.get('id', index), int | str) else index}"
        marks += _task(path, name, task, words, rate, problems, timeless)
    for kind, count in timeless.items():
        what = f"{count} results of type {short(kind)} have no times and are not read."
        problems.append(Problem("annotations-untimed", what, "Nothing to do.", str(path), severity="warning"))
    return Marks(path, tuple(marks), tuple(problems))


FORMAT = AnnotationFormat("Label Studio", "Label Studio's .json", (".json",), read_label_studio)


def _task(
    path: Path,
    name: str,
    task: dict[str, Any],
    words: Words,
    rate: Fraction | None,
    problems: list[Problem],
    timeless: Counter[str],
) -> Iterator[Mark]:
    data = task["data"] if isinstance(task.get("data"), dict) else {}
    videos = _videos(data, words)
    if len(videos) > 1:
        listed = [names[-1] for names in videos]
        what = f"{name}: {len(videos)} videos: {', '.join(map(short, listed))}."
        fix = f"Name those to leave out in the mapping file (--columns), such as `ignore: [{listed[1]}]`."
        problems.append(Problem("video-ambiguous", what, fix, str(path)))
    stated = next((frame_rate for key in _RATES if (frame_rate := _rate(data.get(key)))), None)
    for annotation in task["annotations"]:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result", []), list):
            raise DataError(f"{path}: {name}: an annotation is no object with a list `result`. Export it again.")
        if annotation.get("was_cancelled") is True:
            what, fix = f"{name}: an annotation that was skipped is not read.", "Nothing to do."
            problems.append(Problem("annotation-skipped", what, fix, str(path), severity="warning"))
            continue
        by = annotation.get("completed_by")
        by = by.get("email") or by.get("id") if isinstance(by, dict) else by
        by = str(by) if isinstance(by, int | str) and not isinstance(by, bool) else None
        for result in annotation.get("result", []):
            value = result.get("value") if isinstance(result, dict) else None
            if not isinstance(value, dict):
                raise DataError(f"{path}: {name}: a result is no object with a `value`. Export it again.")
            if not {"ranges", "sequence", "start", "end"} & value.keys():
                timeless[str(result.get("type"))[:40]] += 1
                continue
            where = f"{name}, region {short(result.get('id', '?'))}"
            # The list of labels is called `labels`, `timelinelabels`...
            lists = [labels for key, labels in value.items() if key.endswith("labels") and isinstance(labels, list)]
            labels = [label for labels in lists for label in labels if isinstance(label, str)]
            names = videos[0] if videos else (name,)
            mark = Mark(joined(labels), " / ".join(labels), names, str(path), None, where, by=by)
            if len(labels) == 1:
                yield from _spans(value, rate, stated, mark)
            else:
                what = f"has {len(labels)} labels ({', '.join(map(short, labels[:3]))})."
                yield replace(mark, fault=mark.problem("labels-unclear", what, f"A span has one. {_IGNORE}"))


def _videos(data: dict[str, Any], words: Words) -> list[tuple[str, ...]]:
    """The names that each video of a task may have."""
    videos: dict[str, tuple[str, ...]] = {}
    for text in data.values():
        if not isinstance(text, str) or len(text) > 2000 or "<" in text:
            continue
        try:
            url = urlsplit(text)
        except ValueError:
            continue
        name = parse_qs(url.query).get("d", [""])[0] or unquote(url.path)  # `?d=` is how local files are served
        last = name.replace("\\", "/").rpartition("/")[2]
        stem = _UPLOAD.sub("", last)
        if Path(last).suffix.lower() in SUFFIXES and not any([words.ignored(last), words.ignored(stem)]):
            videos.setdefault(last, tuple(dict.fromkeys((name, stem))))
    return list(videos.values())


def _spans(value: dict[str, Any], rate: Fraction | None, stated: Fraction | None, mark: Mark) -> Iterator[Mark]:
    """The annotation with each of its spans in seconds, or with the reason why it is none."""
    code, what, fix = "not-a-time", "", _IGNORE
    spans: list[tuple[float, float]] = []
    if "ranges" in value or "sequence" in value:
        frames, what = _frames(value)
        own = stated or (None if what else _own_rate(value))
        per_second = rate or own
        if what:
            pass
        elif per_second is None:
            code, what = "rate-missing", "counted in frames, and the file has no rate."
            fix = "Say it with --spans-fps, as `frameRate` in the labeling setup had it (24 if it had none)."
        elif own and abs(per_second / own - 1) > Fraction(1, 1000):
            code, fix = "rate-differs", "Give the rate of the labeling setup, or none."
            what = f"the file says {float(own):g} frames per second, --spans-fps or `rate:` {float(per_second):g}."
        else:
            spans = [(float(first / per_second), float(last / per_second)) for first, last in frames]
    elif "text" in value:
        what = "counted in letters of a text, not in time."
    elif value.get("instant") is True:
        what = "a moment, not a span."
    else:
        start, end = value.get("start"), value.get("end")
        if is_number(start) and is_number(end):
            spans = [(start, end)]
        else:
            what = f"{short(start)} to {short(end)} are no times in seconds."
    if what:
        yield replace(mark, fault=mark.problem(code, what, fix))
    for start, end in spans:
        if 0 <= start < end <= MAX_SECONDS:
            yield replace(mark, start=float(start), end=float(end))
        else:
            what = f"{start:g}-{end:g} s is not `0 <= start < end`, or a single frame."
            yield replace(mark, fault=mark.problem("span-invalid", what, _IGNORE))


def _frames(value: dict[str, Any]) -> tuple[list[tuple[int, int]], str]:
    """First and last frame of every stretch; or none, and why."""
    if "ranges" in value:
        pairs = value["ranges"]
        if isinstance(pairs, list) and pairs and all(isinstance(pair, dict) for pair in pairs):
            ranges = [(pair.get("start"), pair.get("end")) for pair in pairs]
            if all(_is_frame(frame) for pair in ranges for frame in pair):
                return ranges, ""
        return [], "`ranges` are not first and last frames."
    keys = value["sequence"]
    whole = isinstance(keys, list) and keys
    if not whole or not all(isinstance(key, dict) and _is_frame(key.get("frame")) for key in keys):
        return [], "`sequence` holds no frames."
    stretches: list[tuple[int, int]] = []
    begun: int | None = None
    for key in sorted(keys, key=lambda key: key["frame"]):
        if key.get("enabled", True) and begun is None:
            begun = key["frame"]
        elif key.get("enabled", True) is False and begun is not None:
            stretches.append((begun, key["frame"]))
            begun = None
    if begun is not None:  # shown until the video's end
        if not _is_frame(last := value.get("framesCount")):
            return [], "is shown until the end of the video, and `framesCount` is missing."
        stretches.append((begun, last))
    return stretches, "" if stretches else "is never shown."


def _own_rate(value: dict[str, Any]) -> Fraction | None:
    """The rate by which Label Studio gave a keyframe its time."""
    for key in reversed(value.get("sequence") or ()):
        time: Any = key.get("time")
        if is_number(time) and time > 0:
            return _rate(round(key["frame"] / time, 4))
    return None


def _rate(value: Any) -> Fraction | None:
    try:
        rate = Fraction(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, ZeroDivisionError):
        return None
    return rate if rate is not None and len(str(value)) <= 20 and 1 <= rate <= 1000 else None


def _is_frame(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9

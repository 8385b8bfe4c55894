"""Label Studio's JSON export: timeline labels and video regions (frames), audio and time series labels (seconds).

A frame's time is its number divided by the rate, as Label Studio's own player and its ``time`` fields have it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import parse_qs, unquote, urlsplit

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_text
from siming_tasks.data.jsonl import parse_value
from siming_tasks.tools.builder.annotations.match_steps import (
    MAX_BYTES,
    MAX_SECONDS,
    Mark,
    Marks,
    bounded,
    joined,
    short,
)
from siming_tasks.tools.builder.sheets.match_videos import SUFFIXES

__all__ = ["read_label_studio"]

_UPLOAD = re.compile(r"^[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the name of an uploaded file."""
_RATES = ("fps", "framerate", "frame_rate", "frameRate")
_IGNORE = "Leave it out with `ignore:` in the mapping file (--columns), or correct it in Label Studio."


def read_label_studio(
    path: Path, rate: Fraction | None = None, ignored: Callable[[str], bool] = lambda name: False
) -> Marks:
    """The spans of all tasks.

    Args:
        path: the file.
        rate: frames per second, where the file has none.
        ignored: whether a video is left out on purpose, by its file name.

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
        marks += _task(path, task, index, rate, ignored, problems, timeless)
    for kind, count in timeless.items():
        what = f"{count} results of type {short(kind)} have no times and are not read."
        problems.append(Problem("annotations-untimed", what, "Nothing to do.", str(path), severity="warning"))
    return Marks(bounded(path, marks), tuple(problems))


def _task(
    path: Path,
    task: dict[str, Any],
    index: int,
    rate: Fraction | None,
    ignored: Callable[[str], bool],
    problems: list[Problem],
    timeless: Counter[str],
) -> Iterator[Mark]:
    name = f"task {task.get('id', index) if isinstance(task.get('id', index), int | str) else index}"
    data = task["data"] if isinstance(task.get("data"), dict) else {}
    videos = _videos(data, ignored)
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
        by = _annotator(annotation.get("completed_by"))
        for result in annotation.get("result", []):
            value = result.get("value") if isinstance(result, dict) else None
            if not isinstance(value, dict):
                raise DataError(f"{path}: {name}: a result is no object with a `value`. Export it again.")
            if not {"ranges", "sequence", "start", "end"} & value.keys():
                timeless[str(result.get("type"))[:40]] += 1
                continue
            where = f"{name}, region {short(result.get('id', '?'))}"
            labels = _labels(value)
            names = videos[0] if videos else (name,)
            mark = Mark(joined(*labels), " / ".join(labels), names, str(path), None, where, by=by)
            for start, end, fault in _spans(value, rate, stated, mark):
                yield replace(mark, start=start, end=end, fault=fault)


def _labels(value: dict[str, Any]) -> list[str]:
    """The labels of a region, whatever the list is called (``labels``, ``timelinelabels``...)."""
    lists = [labels for key, labels in value.items() if key.endswith("labels") and isinstance(labels, list)]
    return [label for labels in lists for label in labels if isinstance(label, str)]


def _spans(
    value: dict[str, Any], rate: Fraction | None, stated: Fraction | None, mark: Mark
) -> Iterator[tuple[float, float, Problem | None]]:
    """Start and end in seconds, and why it is no span."""
    labels = _labels(value)
    if len(labels) != 1:
        what = f"has {len(labels)} labels ({', '.join(map(short, labels[:3]))})."
        yield 0, 0, mark.problem("labels-unclear", what, f"A span has one. {_IGNORE}")
    elif "ranges" in value or "sequence" in value:
        frames, what = _frames(value)
        own = stated or (None if what else _own_rate(value))
        per_second = rate or own
        if what:
            yield 0, 0, mark.problem("not-a-time", what, _IGNORE)
        elif per_second is None:
            fix = "Say it with --spans-fps, as `frameRate` in the labeling setup had it (24 if it had none)."
            yield 0, 0, mark.problem("rate-missing", "counted in frames, and the file has no rate.", fix)
        elif own and abs(per_second / own - 1) > Fraction(1, 1000):
            what = f"the file says {float(own):g} frames per second, --spans-fps or `rate:` {float(per_second):g}."
            yield 0, 0, mark.problem("rate-differs", what, "Give the rate of the labeling setup, or none.")
        else:
            for first, last in frames:
                yield _checked(float(first / per_second), float(last / per_second), mark)
    elif "text" in value or value.get("instant") is True:
        what = "a moment, not a span." if "text" not in value else "counted in letters of a text, not in time."
        yield 0, 0, mark.problem("not-a-time", what, _IGNORE)
    else:
        start, end = value.get("start"), value.get("end")
        if _is_number(start) and _is_number(end):
            yield _checked(start, end, mark)
        else:
            what = f"{short(start)} to {short(end)} are no times in seconds."
            yield 0, 0, mark.problem("not-a-time", what, _IGNORE)


def _checked(start: float, end: float, mark: Mark) -> tuple[float, float, Problem | None]:
    if not (0 <= start < end <= MAX_SECONDS):
        what = f"{start:g}-{end:g} s is not `0 <= start < end`, or a single frame."
        return 0, 0, mark.problem("span-invalid", what, _IGNORE)
    return float(start), float(end), None


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
    if (
        not isinstance(keys, list)
        or not keys
        or not all(isinstance(key, dict) and _is_frame(key.get("frame")) for key in keys)
    ):
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
        if _is_number(time) and time > 0:
            return _rate(round(key["frame"] / time, 4))
    return None


def _rate(value: Any) -> Fraction | None:
    try:
        rate = Fraction(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, ZeroDivisionError):
        return None
    return rate if rate is not None and len(str(value)) <= 20 and 1 <= rate <= 1000 else None


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_frame(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9


def _annotator(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("email") or value.get("id")
    return str(value) if isinstance(value, int | str) and not isinstance(value, bool) else None


def _videos(data: dict[str, Any], ignored: Callable[[str], bool]) -> list[tuple[str, ...]]:
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
        if Path(last).suffix.lower() in SUFFIXES and not any([ignored(last), ignored(_UPLOAD.sub("", last))]):
            videos.setdefault(last, tuple(dict.fromkeys((name, _UPLOAD.sub("", last)))))
    return list(videos.values())

"""The videos that a label sheet talks about: found in a folder, matched by name, given neutral ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.common.errors import MediaError, Problem
from siming_tasks.media.container import open_video
from siming_tasks.tools.builder.sheets.labels import LabelRow
from siming_tasks.tools.builder.sheets.match_videos import VideoFiles

__all__ = ["VideoFile", "find_sources", "new_ids", "span_problems"]

SLACK = 0.5
"""Seconds by which a span may pass the end of its video and is cut back; score sheets are kept in whole seconds."""


@dataclass(frozen=True)
class VideoFile:
    """A video file, the name the sheet has for it, and how long its header says it is (seconds; None: not stated)."""

    name: str
    path: Path
    duration: float | None


def find_sources(videos: VideoFiles, rows: Sequence[LabelRow]) -> tuple[dict[str, VideoFile], list[Problem]]:
    """The file of every video in the sheet, by the sheet's name (path below the folder, file name, or stem)."""
    sources: dict[str, VideoFile] = {}
    problems: list[Problem] = []
    first: dict[str, LabelRow] = {}
    for row in rows:
        first.setdefault(row.video, row)
    for row in first.values():
        match = videos.find(row.video)
        if len(match) == 1:
            problems += _duration_problems(row, match[0], sources)
        elif match:
            shown = " or ".join(path.relative_to(videos.folder).as_posix() for path in match[:3])
            fix = "Write the file name with its folder and suffix."
            problems.append(_about(row, "video-ambiguous", f"video {row.video!r} could be {shown}.", fix))
        else:
            what = f"video {row.video!r}: no such file in {videos.folder}."
            if near := videos.similar(row.video):
                what += f" Similar: {', '.join(map(repr, near))}."
            fix = "Write the file's name (with or without suffix), or put the file there."
            problems.append(_about(row, "video-missing", what, fix))
    used = {source.path for source in sources.values()}
    if spare := [path for path in videos.files if path not in used]:
        what = f"{len(spare)} video files have no row in the sheet ({spare[0].name}, ...) and are left out."
        problems.append(Problem("video-unlabelled", what, "Add their rows.", str(videos.folder), severity="warning"))
    return sources, problems


def _duration_problems(row: LabelRow, path: Path, sources: dict[str, VideoFile]) -> list[Problem]:
    if twice := [source.name for source in sources.values() if source.path == path]:
        what = f"video {row.video!r} is the same file as {twice[0]!r}."
        return [_about(row, "video-twice", what, "Use one name for one video.")]
    try:
        with open_video(path) as (container, _):
            duration = container.duration / 1e6 if container.duration else None
    except MediaError as error:
        return [_about(row, "media-unreadable", str(error), "Export the video again.")]
    sources[row.video] = VideoFile(row.video, path, duration)
    return []


def _about(row: LabelRow, code: str, what: str, fix: str) -> Problem:
    return Problem(code, what, fix, row.file, row.lines[0], "video_id")


def new_ids(names: Iterable[str], keep: bool = False, prefix: str = "v") -> dict[str, str]:
    """Neutral ids (``v001``...) in order of appearance, or the names themselves if they are to be kept."""
    names = list(names)
    width = max(3, len(str(len(names))))
    return {name: name if keep else f"{prefix}{number:0{width}}" for number, name in enumerate(names, 1)}


def span_problems(rows: Iterable[LabelRow], durations: Mapping[str, float | None]) -> list[Problem]:
    """Problems of the rows' spans, given the duration of each video (by the sheet's name)."""
    problems = []
    for row in rows:
        duration = durations.get(row.video)
        if (row.start is None) != (row.end is None):
            fix = "Give both or neither."
            problems.append(row.problem("span-half", "only one of start and end is given.", fix, "start"))
        elif row.start is not None and row.end is not None:
            if not 0 <= row.start < row.end:
                what = f"the span {row.start:g}-{row.end:g} s is not `0 <= start < end`."
                problems.append(row.problem("span-invalid", what, "Correct it.", "start"))
            elif duration is not None and row.end > duration + SLACK:
                what = f"ends at {row.end:g} s, but the video at {duration:.2f} s."
                problems.append(
                    row.problem("span-outside", what, "Correct `end`, or check that it is the video.", "end")
                )
    return problems

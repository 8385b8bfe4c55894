"""The videos that a label sheet talks about: found in a folder, matched by name, given neutral ids."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from siming_tasks.common.errors import DataError, MediaError, Problem
from siming_tasks.common.files import inside
from siming_tasks.common.person_names import name_keys
from siming_tasks.common.printed_value import counted
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.source_gate import Recording, look_at_all, loss_problem
from siming_tasks.tools.station.event_log import SHORTEST_SPAN

SUFFIXES = {
    *(".mp4", ".mov", ".m4v", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".mpe", ".wmv", ".asf", ".flv", ".mts"),
    *(".m2ts", ".ts", ".3gp", ".3g2", ".dav", ".mxf", ".ogv", ".vob"),
}
SLACK = 0.5
"""Seconds by which a span may pass the end of its video and is cut back; score sheets are kept in whole seconds."""


class VideoFiles:
    """The video files below a folder, by path and file name, each with its suffix or without.

    Raises:
        DataError: the folder is missing or has no video.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            what = "a file, not a folder" if folder.exists() else "no such folder"
            raise DataError(f"{folder}: {what}. Give the folder of the video files.")
        self.folder = folder
        # ._NAME is what macOS leaves beside a file on foreign disks
        self.files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()
                            and not path.name.startswith("."))  # fmt: skip
        if not self.files:
            raise DataError(f"{folder}: no video file found ({', '.join(sorted(SUFFIXES))}).")
        self._by_name: dict[str, list[Path]] = {}
        for path in self.files:
            inner = path.relative_to(folder)
            names = (inner.as_posix(), inner.with_suffix("").as_posix(), path.name, path.stem)
            for name in {_composed(each) for each in names}:
                self._by_name.setdefault(name, []).append(path)

    def find(self, name: str) -> list[Path]:
        """The files that a name may mean: those of the same letters, else the one at this path."""
        if found := self._by_name.get(_composed(name)):
            return found
        try:
            # A file that is named in full may have any suffix: its kind is known by its content.
            path = inside(self.folder, name)
            return [path] if path.is_file() else []
        except (OSError, ValueError):
            return []

    def speller(self) -> Callable[[str], str]:
        """Replaces all spellings of one file name in a sheet by the first spelling."""
        first: dict[str, str] = {}

        def spelling(name: str) -> str:
            files = self.find(name)
            return first.setdefault(str(files[0]) if len(files) == 1 else f"name {_composed(name)}", name)

        return spelling

    def same(self, name: str, names: Iterable[str]) -> str | None:
        """The one among ``names`` that means the same file as ``name`` (itself, if it is there)."""
        names = list(names)
        if name in names:
            return name
        file = self.find(name)
        same = [each for each in names if len(file) == 1 and self.find(each) == file]
        return same[0] if len(same) == 1 else None


def _composed(name: str) -> str:
    """The name in composed letters: macOS writes an "ü" as two."""
    return unicodedata.normalize("NFC", name)


def find_sources(
    videos: VideoFiles, rows: Sequence[LabelRow], allow_loss: bool = False
) -> tuple[dict[str, Recording], list[Problem]]:
    """The file of every video in the sheet, by the sheet's name (:class:`VideoFiles`)."""
    sources: dict[str, Recording] = {}
    problems: list[Problem] = []
    first: dict[str, LabelRow] = {}
    for row in rows:
        first.setdefault(row.video, row)
    files = {name: videos.find(name) for name in first}
    looked = look_at_all(match[0] for match in files.values() if len(match) == 1)
    for name, row in first.items():
        match = files[name]
        code, what = "", ""
        if not match:
            code, what = "video-missing", f"video {name!r}: no such file in {videos.folder}."
            stem = Path(name).stem if Path(name).suffix.lower() in SUFFIXES else name
            like = [path for path in videos.files if name_keys(path.stem) & name_keys(stem)]
            fix = "Write the file's name (with or without suffix), or put the file there."
            if like:
                zeros = "" if like[0].stem.casefold() == stem.casefold() else \
                    " A spreadsheet drops zeros: format the column as text."  # fmt: skip
                fix = f"Is it {like[0].name!r}?{zeros}"
        elif len(match) > 1:
            shown = " or ".join(path.relative_to(videos.folder).as_posix() for path in match[:3])
            code, what = "video-ambiguous", f"video {name!r} could be {shown}."
            fix = "Write the file name with its folder and suffix."
        elif isinstance(recording := looked[match[0]], MediaError):
            code, what, fix = "media-unreadable", str(recording), "Export the video again."
        else:
            sources[name] = recording
            loss = loss_problem(recording, recording.lost, allow_loss)
            # of a small loss the build itself warns, when all of it is known
            problems += filter(None, [recording.cut(), loss if loss and loss.severity == "error" else None])
        if code:
            problems.append(Problem(code, what, fix, row.file, row.line, "video_id"))
    known = {path for match in files.values() for path in match}
    if spare := [path for path in videos.files if path not in known]:
        shown = spare[0].name + (", ..." if len(spare) > 1 else "")
        what = f"{counted(len(spare), 'video file')} without a row in the sheet ({shown}); left out."
        problems.append(Problem("video-unlabelled", what, "Add their rows.", str(videos.folder), severity="warning"))
    return sources, problems


def sound_problems(sources: Mapping[str, Recording]) -> list[Problem]:
    """Problems with the sound that is to be kept: none of a video, or tracks of it that are left out."""
    problems: list[Problem] = []
    if silent := [name for name, source in sources.items() if source.sound is None]:
        names = ", ".join(map(repr, silent[:4]))
        what = f"there is no sound in {len(silent)} of {counted(len(sources), 'video')} ({names})."
        fix = "Leave them out, give recordings with sound, or build without --keep-audio."
        problems.append(Problem("sound-missing", what, fix))
    for source in sources.values():
        if source.unknown:
            what = f"the first of its {source.tracks} sound tracks has an unknown codec."
            fix = "Make another one the first: ffmpeg -i IN -map 0:v -map 0:a:1 -c copy OUT; or leave out --keep-audio."
            problems.append(Problem("sound-unknown", what, fix, str(source.path)))
        elif source.tracks > 1:
            what = f"has {source.tracks} sound tracks; the first is kept."
            fix = "To keep another one, make it the first: ffmpeg -i IN -map 0:v -map 0:a:1 -c copy OUT."
            problems.append(Problem("sound-tracks", what, fix, str(source.path), severity="warning"))
    return problems


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
        place = row.timed or row
        if (row.start is None) != (row.end is None):
            what, fix = "only one of start and end is given.", "Give both or neither."
            problems.append(place.problem("span-half", what, fix, "start"))
        elif row.start is not None and row.end is not None:
            if not 0 <= row.start < row.end:
                what = f"the span {row.start:g}-{row.end:g} s is not `0 <= start < end`."
                problems.append(place.problem("span-invalid", what, "Correct it.", "start"))
            elif duration is not None and row.end > duration + SLACK:
                what = f"ends at {row.end:g} s, but the video at {duration:.2f} s."
                fix = "Correct `end`, or check that it is the right video."
                problems.append(place.problem("span-outside", what, fix, "end"))
            elif min(row.end, row.end if duration is None else duration) - row.start < SHORTEST_SPAN - 1e-9:
                what = f"the span {row.start:g}-{row.end:g} s shows less than {SHORTEST_SPAN:g} s of the video."
                fix = "Write seconds (83.5) or minutes:seconds (1:23.5), not fractions of a day."
                problems.append(place.problem("span-short", what, fix, "start"))
    return problems


def minutes_problem(rows: Iterable[LabelRow], durations: Mapping[str, float]) -> Iterator[Problem]:
    """A question where most steps end within the first tenth of their videos: minutes may have been written."""
    timed = [(row, durations[row.video]) for row in rows if row.end is not None and row.video in durations]
    early = [(row, whole) for row, whole in timed if row.end is not None and row.end < whole / 10]
    if len(early) > len(timed) / 2:
        (row, whole), place = early[0], early[0][0].timed or early[0][0]
        what = f"ends at {row.end:g} of {whole:.0f} s, and {len(early) - 1} more of {len(timed)} steps within a tenth."
        fix = "If the times are minutes, write minutes:seconds (0:12) or seconds."
        yield place.problem("span-minutes", what, fix, "end", severity="warning")

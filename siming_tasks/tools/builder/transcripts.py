"""Transcripts of a build: WebVTT or Whisper's JSON, one file per video, on the video's clock, without the listed names.

Names are replaced by an exact list. Nothing looks for names that are not in it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_text
from siming_tasks.common.printed_value import counted
from siming_tasks.data.row_schema import problems_of
from siming_tasks.tools.builder.label_tables import read_grids
from siming_tasks.tools.builder.source_gate import Recording
from siming_tasks.tools.builder.video_files import VideoFiles

SUFFIXES = (".vtt", ".json")
"""Of files that are read as transcripts."""
MAX_BYTES, MAX_SECONDS = 32_000_000, 1e6
"""Largest file; latest time: a later one (eleven days) is of another unit."""
_CLOCK = r"(?:(\d{2,3}):)?([0-5]\d):([0-5]\d\.\d{3})"
_TIMES = re.compile(rf"\s*{_CLOCK}\s+-->\s+{_CLOCK}(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^<>]+)>")
_MARKUP = re.compile(r"<[^<>]*>")

_Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]


class Said(BaseModel):
    """One line of a transcript, as Whisper has it: words from ``start`` to ``end`` in seconds, and who says them."""

    start: _Seconds
    end: _Seconds
    text: str
    speaker: str | None = None


class _Whisper(BaseModel):
    segments: list[Said]


@dataclass(frozen=True)
class TranscriptFile:
    """Content of one file.

    Attributes:
        path: of the file.
        said: its lines by time.
        from_sound: a recogniser that heard the sound alone wrote it, so that second 0 is where the sound begins.
    """

    path: Path
    said: Sequence[Said]
    from_sound: bool


def read_transcript(path: Path) -> TranscriptFile:
    """The lines of a WebVTT or JSON file, which must be UTF-8.

    Raises:
        DataError: it cannot be read, or a line of it has no usable times; names the place.
    """
    text = read_text(path, MAX_BYTES, "Save it as UTF-8.").removeprefix("\ufeff")
    if path.suffix.lower() == ".vtt":
        said = list(_cues(path, text))
    else:
        try:
            said = _Whisper.model_validate_json(text).segments
        except ValidationError as error:
            raise DataError.of(problems_of(error, str(path), code="transcript-form"), shown=3) from None
    for line in said:
        if line.end < line.start:
            raise DataError(f"{path}: {short(line.text)} ends at {line.end:g} s and begins at {line.start:g} s.")
    lines = [
        line.model_copy(update={"text": _plain(line.text), "speaker": _plain(line.speaker or "") or None})
        for line in said
    ]
    said = sorted((line for line in lines if line.text), key=lambda line: line.start)
    return TranscriptFile(path, said, from_sound=path.suffix.lower() == ".json")


def short(text: object) -> str:
    """A stranger's text as it is quoted in a message."""
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:76] + "...'"


def _plain(text: str) -> str:
    """The text on one line in composed letters, without those that nobody sees: they would hide a listed name."""
    seen = (letter for letter in text if letter.isspace() or unicodedata.category(letter) not in ("Cf", "Cc"))
    return " ".join(unicodedata.normalize("NFC", "".join(seen)).split())


def _cues(path: Path, text: str) -> Iterator[Said]:
    """The cues of a WebVTT file: blocks with a line of two times, one line of words for each voice."""
    text = re.sub(r"[ \t]+\n", "\n", text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.startswith("WEBVTT"):
        raise DataError(f"{path}: does not begin with WEBVTT. Give a WebVTT file.")
    for match in re.finditer(r"(?:[^\n]+(?:\n|$))+", text):
        block, number = match[0].splitlines(), text.count("\n", 0, match.start()) + 1
        if (is_head := number == 1) or block[0].split()[0] in ("NOTE", "STYLE", "REGION"):
            if any("-->" in line or (is_head and line.startswith("X-TIMESTAMP-MAP")) for line in block):
                what = "contains times. Put an empty line before a cue; give a transcript of the whole video."
                raise DataError(f"{path}:{number}: {short(block[0])} {what}")
            continue
        at = 0 if "-->" in block[0] else 1
        times = _TIMES.fullmatch(block[at]) if at < len(block) else None
        words = "\n".join(block[at + 1 :])
        if times is None or "-->" in words:
            fix = "Write 00:01:02.500 --> 00:01:04.000 above its words, and an empty line after each cue."
            raise DataError(
                f"{path}:{number}: {short(block[0])} begins a cue that has not one line of two times. {fix}"
            )
        start, end = (
            int(h or 0) * 3600 + int(m) * 60 + float(s) for h, m, s in (times.groups()[:3], times.groups()[3:])
        )
        first, *rest = _VOICE.split(words)
        for who, spoken in [("", first), *zip(rest[::2], rest[1::2], strict=True)]:
            yield Said(start=start, end=end, text=html.unescape(_MARKUP.sub("", spoken)), speaker=html.unescape(who))


def read_transcripts(
    paths: Sequence[Path], videos: VideoFiles, labelled: Sequence[str]
) -> tuple[dict[str, TranscriptFile], list[Problem]]:
    """The transcript of each labelled video that has one, by the table's name, and what is wrong with any.

    Args:
        paths: files, or folders with such files. A file is of the video whose name it has, also before a further ending
            (``IMG_1.en.vtt``).
        videos: the video files.
        labelled: names of the videos that have rows in the table.
    """
    chosen: dict[str, TranscriptFile] = {}
    problems: list[Problem] = []
    for path in _files(paths):
        try:
            file = read_transcript(path)
        except DataError as error:
            problems.append(Problem("transcript-form", str(error).removeprefix(f"{path}: "), "", str(path)))
            continue
        stems = [path.name.rsplit(".", cut)[0] for cut in range(1, path.name.count(".") + 1)]
        video = next((same for name in stems if (same := videos.same(name, labelled))), None)
        if video is None and any(videos.find(name) for name in stems):
            what = "is of a video that has no row in the table, and is left out."
            problems.append(Problem("transcript-spare", what, "Add its rows.", str(path), severity="warning"))
        elif video is None:
            what = f"no video is called {stems[-1]!r}."
            problems.append(Problem("transcript-unmatched", what, "Name it like its video.", str(path)))
        elif (first := chosen.setdefault(video, file)) is not file:
            what = f"video {video!r} has {first.path}, too."
            problems.append(Problem("transcript-twice", what, "Give one of them.", str(path)))
    if chosen and (lacking := [video for video in labelled if video not in chosen]):
        names = ", ".join(map(repr, lacking[:4]))
        what = f"there is no transcript of {len(lacking)} of {counted(len(labelled), 'video')} ({names})."
        fix = (
            "Tasks with transcripts are refused until every video has one; a file without "
            "cues means that nobody speaks."
        )
        problems.append(Problem("transcript-missing", what, fix, severity="warning"))
    return chosen, problems


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files themselves, and those below folders (DataError: there are none)."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES and each.is_file())
        if path.is_dir() and not inside:
            raise DataError(f"{path}: a folder without a transcript ({', '.join(SUFFIXES)}).")
        if not path.is_dir() and (not path.is_file() or path.suffix.lower() not in SUFFIXES):
            raise DataError(
                f"{path}: no such transcript. Give WebVTT (.vtt) or Whisper's JSON (.json), or their folder."
            )
        found += inside if path.is_dir() else [path]
    return list(dict.fromkeys(found))


@dataclass
class Names:
    """An exact list of names, and their replacements in transcripts.

    Attributes:
        places: by name, its replacement.
        met: names that were said or are a speaker's.
    """

    places: Mapping[str, str]
    met: set[str] = field(default_factory=set)

    def replaced(self, text: str) -> str:
        """The text with every listed name replaced, the longest first; a name of ASCII letters only as whole words.

        Example:
            >>> Names({"Anna": "nurse", "王": "s1"}).replaced("Anna, Annabel! 王医生")
            'nurse, Annabel! s1医生'
        """

        def place(match: re.Match[str]) -> str:
            self.met.add(match[0])
            return self.places[match[0]]

        names = sorted(self.places, key=len, reverse=True)
        forms = (rf"(?<![A-Za-z0-9_]){re.escape(n)}(?![A-Za-z0-9_])" if n.isascii() else re.escape(n) for n in names)
        return re.sub("|".join(forms), place, text) if names else text

    def unmet(self, file: Path | None) -> list[Problem]:
        """A finding on listed names that nobody says and no speaker is called: a misspelt one replaces nothing."""
        if not (unmet := [name for name in self.places if name not in self.met]):
            return []
        what = f"has {', '.join(map(short, unmet[:4]))}, which occurs neither in the words nor as a speaker."
        fix = "Write the name as in the transcript, or delete the row."
        return [Problem("name-unmet", what, fix, str(file) if file else None)]


def read_names(path: Path) -> Names:
    """The list of names to replace: a table with the columns ``name, replacement``.

    Raises:
        DataError: it cannot be read, or is not such a table.
    """
    grid, *more = read_grids(path)
    if unclear := [problem for problem in grid.problems if problem.severity == "error"]:
        raise DataError.of(unclear)
    head, *rows = grid.rows
    if head[1][:2] != ["name", "replacement"] or more or not all(all(cells[:2]) for _, cells in rows):
        raise DataError(f"{path}: not a list of names. Give a table with two columns, name and replacement.")
    return Names({_plain(cells[0]): cells[1] for _, cells in rows})


def transcript_rows(
    video: str, file: TranscriptFile, source: Recording, names: Names, problems: list[Problem]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The ``transcript`` of a video's row, and the number of each speaker who got one.

    Times are counted from where a player begins the video: those of a recogniser (JSON) are moved by the delay of the
    sound. Ends beyond the video's are cut back. A speaker who is not among the names is called ``speaker 1``,
    ``speaker 2``, ... in order of appearance.
    """
    late = (source.sound or 0.0) if file.from_sound else 0.0
    if outside := [line for line in file.said if line.start + late >= source.duration]:
        what = f"{counted(len(outside), 'line')} after the end of video {video!r} ({source.duration:.2f} s), the first"
        what += f" at {outside[0].start:g} s."
        fix = "Delete them, or check that it is this video's transcript."
        problems.append(Problem("transcript-outside", what, fix, str(file.path)))
    speakers: dict[str, str] = {}
    rows = []
    for line in file.said:
        times = {name: round(max(0.0, getattr(line, name) + late), 3) for name in ("start", "end")}
        row: dict[str, Any] = {**times, "text": names.replaced(line.text)}
        who = line.speaker or ""
        if who in names.places:
            names.met.add(who)
            row["who"] = names.places[who]
        elif who:
            row["who"] = speakers.setdefault(who, f"speaker {len(speakers) + 1}")
        rows.append({**row, "end": min(row["end"], source.duration)})
    return rows, speakers

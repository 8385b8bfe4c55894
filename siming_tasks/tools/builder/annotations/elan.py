"""ELAN's ``.eaf`` files (EAF 2.x and 3.x; format: mpi.nl/tools/elan/EAF_Annotation_Format_3.0_and_ELAN.pdf).

The file is read as a stream of tags by expat: it is a stranger's, so document types (and with them entities) are
refused, and depth and number of tags are bounded. A tree would also have forgotten the lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
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

__all__ = ["read_elan"]

MAX_DEPTH, MAX_TAGS, MAX_TEXT = 30, 1_000_000, 10_000
_TEXTS = ("ANNOTATION_VALUE",)


@dataclass
class _Note:
    """An annotation as the file has it: two time slots, or the annotation that it belongs to."""

    id: str
    line: int
    tier: str
    by: str | None
    slots: tuple[str, str] | None = None
    parent: str = ""
    text: str = ""


@dataclass
class _Document:
    path: Path
    root: str = ""
    units: str = "milliseconds"
    media: list[tuple[str, str, int]] = field(default_factory=list)
    slots: dict[str, int | None] = field(default_factory=dict)
    notes: dict[str, _Note] = field(default_factory=dict)
    parts: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def read_elan(path: Path, ignored: Callable[[str], bool] = lambda name: False) -> Marks:
    """The annotations of all tiers, with the times of their own or of the annotation that they belong to.

    Args:
        path: the file.
        ignored: whether a linked video is left out on purpose, by its file name.

    Raises:
        DataError: not XML or not ELAN's, or larger or deeper than any annotation file.
    """
    document = _Document(path)
    _Tags(document).parse(read_bytes(path, MAX_BYTES))
    if document.root != "ANNOTATION_DOCUMENT":
        raise DataError(f"{path}: XML, but not ELAN's (its first tag is {short(document.root)}). Give the .eaf file.")
    if document.units != "milliseconds":
        what = f"its times are counted in {short(document.units)}, not in milliseconds."
        raise DataError(f"{path}: {what} Save it with a recent version of ELAN.")
    video, origin = _video(document, ignored)
    marks = [_mark(note, document, video, origin) for note in document.notes.values()]
    return Marks(bounded(path, marks), tuple(document.problems))


def _mark(note: _Note, document: _Document, video: str, origin: int) -> Mark:
    where = f"tier {short(note.tier)}, annotation {short(note.id)}"
    words = joined(note.tier, note.text)
    mark = Mark(words, note.tier, (video,), str(document.path), note.line, where, by=note.by)
    times, fault, fix = _times(note, document)
    if times is None:
        return replace(mark, fault=mark.problem("span-untimed", fault, fix))
    start, end = ((time + origin) / 1000 for time in times)
    return replace(mark, start=start, end=end)


def _times(note: _Note, document: _Document) -> tuple[tuple[int, int] | None, str, str]:
    """Milliseconds of the file's own time line; or None, why not, and the way out."""
    seen = {note.id}
    align = "Align it in ELAN, or leave its tier out with `ignore:` in the mapping file (--columns)."
    while note.slots is None:
        if note.id in document.parts:
            what = "one of several parts of another annotation, which have no times of their own."
            return None, what, align
        parent = document.notes.get(note.parent)
        if parent is None:
            return None, f"belongs to annotation {short(note.parent)}, which the file lacks.", "Save it again in ELAN."
        if parent.id in seen:
            return None, "belongs to itself, by way of others.", "Save it again in ELAN."
        seen.add(parent.id)
        note = parent
    times = []
    for slot in note.slots:
        if slot not in document.slots:
            return None, f"time slot {short(slot)} is not in the file.", "Save it again in ELAN."
        time = document.slots[slot]
        if time is None:
            return None, f"time slot {short(slot)} is not aligned: it has no time.", align
        times.append(time)
    return (times[0], times[1]), "", ""


def _video(document: _Document, ignored: Callable[[str], bool]) -> tuple[str, int]:
    """The linked video's name, and how much later its time is than that of the annotations (ms)."""
    media: dict[str, int] = {}
    for url, kind, origin in document.media:
        name = unquote(url).replace("\\", "/")
        if kind.startswith("video/") or Path(name).suffix.lower() in SUFFIXES:
            media.setdefault(name.removeprefix("file://"), origin)
    used = {name: origin for name, origin in media.items() if not ignored(name.rpartition("/")[2])}
    if len(used) > 1:
        names = [name.rpartition("/")[2] for name in used]
        what = f"{len(used)} videos are linked: {', '.join(map(short, names))}."
        fix = f"Name those to leave out in the mapping file (--columns), such as `ignore: [{names[1]}]`."
        document.problems.append(Problem("video-ambiguous", what, fix, str(document.path)))
    for name, origin in used.items():
        return name, origin
    return document.path.name, 0  # `videos:` in the mapping can say which video that is


class _Tags:
    """Fills a document from a stream of tags."""

    def __init__(self, document: _Document) -> None:
        self.document = document
        self.path = str(document.path)
        self.depth = self.tags = 0
        self.tier: tuple[str, str | None] = ("", None)
        self.note: _Note | None = None
        self.texts: list[str] | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def parse(self, data: bytes) -> None:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            what = f"not readable XML: {expat.ErrorString(error.code)}"
            raise DataError(f"{self.path}:{error.lineno}: {what}. Save the file again in ELAN.") from None
        except (LookupError, ValueError) as error:  # an encoding that Python lacks
            raise DataError(f"{self.path}: not readable XML: {error}. Save the file again in ELAN.") from None

    def _refused(self, what: str) -> DataError:
        return DataError(f"{self.path}:{self.parser.CurrentLineNumber}: {what}")

    def _doctype(self, *_: object) -> None:
        raise self._refused("declares a document type, which ELAN never does and which may hide other files. Refused.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth, self.tags = self.depth + 1, self.tags + 1
        if self.depth > MAX_DEPTH or self.tags > MAX_TAGS:
            raise self._refused("more or deeper tags than any annotation file has. Is it the right file?")
        document, line = self.document, self.parser.CurrentLineNumber
        document.root = document.root or tag
        if tag == "HEADER":
            document.units = attributes.get("TIME_UNITS") or "milliseconds"
        elif tag == "MEDIA_DESCRIPTOR":
            url = attributes.get("MEDIA_URL") or attributes.get("RELATIVE_MEDIA_URL") or ""
            document.media.append((url, attributes.get("MIME_TYPE", ""), self._whole(attributes, "TIME_ORIGIN") or 0))
        elif tag == "TIME_SLOT":
            slot = self._need(attributes, "TIME_SLOT_ID", tag)
            if slot in document.slots:
                raise self._refused(f"time slot {short(slot)} appears twice. Save the file again in ELAN.")
            document.slots[slot] = self._whole(attributes, "TIME_VALUE")
        elif tag == "TIER":
            self.tier = self._need(attributes, "TIER_ID", tag), attributes.get("ANNOTATOR") or None
        elif tag in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            self.note = _Note(self._need(attributes, "ANNOTATION_ID", tag), line, *self.tier)
            if tag == "REF_ANNOTATION":
                self.note.parent = self._need(attributes, "ANNOTATION_REF", tag)
                if previous := attributes.get("PREVIOUS_ANNOTATION"):
                    document.parts |= {self.note.id, previous}
            else:
                self.note.slots = (
                    self._need(attributes, "TIME_SLOT_REF1", tag),
                    self._need(attributes, "TIME_SLOT_REF2", tag),
                )
            if self.note.id in document.notes:
                raise self._refused(f"annotation {short(self.note.id)} appears twice. Save the file again in ELAN.")
            document.notes[self.note.id] = self.note
        self.texts = [] if tag in _TEXTS else None

    def _end(self, tag: str) -> None:
        self.depth -= 1
        if tag in _TEXTS and self.note is not None and self.texts is not None:
            self.note.text = " ".join("".join(self.texts).split())[:MAX_TEXT]
        self.texts = None

    def _text(self, text: str) -> None:
        if self.texts is not None:
            self.texts.append(text)

    def _need(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if not attributes.get(name):
            raise self._refused(f"{tag} without {name}. Save the file again in ELAN.")
        return attributes[name]

    def _whole(self, attributes: dict[str, str], name: str) -> int | None:
        """Milliseconds; None if there are none."""
        text = attributes.get(name)
        if text is None:
            return None
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 15 or int(digits) > 1000 * MAX_SECONDS:
            raise self._refused(f"{name} {short(text)} is no time in milliseconds. Correct it in ELAN.")
        return int(text)

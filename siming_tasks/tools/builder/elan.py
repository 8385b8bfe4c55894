"""ELAN's ``.eaf`` files (EAF 2.x and 3.x; format: mpi.nl/tools/elan/EAF_Annotation_Format_3.0_and_ELAN.pdf).

The file is read as a stream of tags by expat: it is a stranger's, so document types (and with them entities) are
refused, and depth and number of tags are bounded. A tree would also have forgotten the lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
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

MAX_DEPTH, MAX_TAGS, MAX_TEXT = 30, 1_000_000, 10_000
_SAVE = "Save it again in ELAN."
_ALIGN = "Align it in ELAN, or leave its tier out with `ignore:` in the mapping file (--columns)."


def read_elan(path: Path, words: Words, rate: Fraction | None = None, encoding: str | None = None) -> Marks:
    """The annotations of all tiers, with the times of their own or of the annotation that they belong to.

    Raises:
        DataError: not XML or not ELAN's, or larger or deeper than any annotation file.
    """
    document = _Document(path)
    if document.root != "ANNOTATION_DOCUMENT":
        raise DataError(f"{path}: XML, but not ELAN's (its first tag is {short(document.root)}). Give the .eaf file.")
    if document.units != "milliseconds":
        what = f"its times are counted in {short(document.units)}, not in milliseconds."
        raise DataError(f"{path}: {what} Save it with a recent version of ELAN.")
    media: dict[str, int] = {}
    for url, kind, origin in document.media:
        name = unquote(url).replace("\\", "/")
        if kind.startswith("video/") or Path(name).suffix.lower() in SUFFIXES:
            media.setdefault(name.removeprefix("file://"), origin)
    used = {name: origin for name, origin in media.items() if not words.ignored(name.rpartition("/")[2])}
    problems = []
    if len(used) > 1:
        names = [name.rpartition("/")[2] for name in used]
        what = f"{len(used)} videos are linked: {', '.join(map(short, names))}."
        fix = f"Name those to leave out in the mapping file (--columns), such as `ignore: [{names[1]}]`."
        problems.append(Problem("video-ambiguous", what, fix, str(path)))
    # Without a video, `videos:` in the mapping can say which one the file's own name means. The origin (ms) is how much
    # later the video's time is than that of the annotations.
    video, origin = next(iter(used.items()), (path.name, 0))

    marks = []
    for note in document.notes.values():
        where = f"tier {short(note.tier)}, annotation {short(note.id)}"
        mark = Mark(
            joined((note.tier, note.text)),
            note.tier,
            (video,),
            str(path),
            note.line,
            where,
            by=document.annotators[note.tier],
        )
        times, fault, fix = _times(note, document)
        if times is None:
            marks.append(replace(mark, fault=mark.problem("span-untimed", fault, fix)))
        else:
            marks.append(replace(mark, start=(times[0] + origin) / 1000, end=(times[1] + origin) / 1000))
    return Marks(path, tuple(marks), tuple(problems))


FORMAT = AnnotationFormat("ELAN", "ELAN's .eaf", (".eaf",), read_elan)


@dataclass
class _Note:
    """An annotation as the file has it: two time slots, or the annotation that it belongs to."""

    id: str
    line: int
    tier: str
    slots: tuple[str, str] | None = None
    parent: str = ""
    text: str = ""


def _times(note: _Note, document: _Document) -> tuple[tuple[int, int] | None, str, str]:
    """Milliseconds of the file's own time line; or None, why not, and the way out."""
    seen = {note.id}
    while note.slots is None:
        if note.id in document.parts:
            return None, "one of several parts of another annotation, which have no times of their own.", _ALIGN
        parent = document.notes.get(note.parent)
        if parent is None:
            return None, f"belongs to annotation {short(note.parent)}, which the file lacks.", _SAVE
        if parent.id in seen:
            return None, "belongs to itself, by way of others.", _SAVE
        seen.add(parent.id)
        note = parent
    times = []
    for slot in note.slots:
        if slot not in document.slots:
            return None, f"time slot {short(slot)} is not in the file.", _SAVE
        time = document.slots[slot]
        if time is None:
            return None, f"time slot {short(slot)} is not aligned: it has no time.", _ALIGN
        times.append(time)
    return (times[0], times[1]), "", ""


class _Document:
    """The content of a file, filled from its stream of tags."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root, self.units = "", "milliseconds"
        self.media: list[tuple[str, str, int]] = []
        self.slots: dict[str, int | None] = {}
        self.notes: dict[str, _Note] = {}
        self.parts: set[str] = set()
        self._depth = self._tags = 0
        self.annotators: dict[str, str | None] = {"": None}
        self._tier = ""
        self._note: _Note | None = None
        self._texts: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = lambda text: None if self._texts is None else self._texts.append(text)
        try:
            self._parser.Parse(read_bytes(path, MAX_BYTES), True)
        except expat.ExpatError as error:
            what = f"not readable XML: {expat.ErrorString(error.code)}"
            raise DataError(f"{path}:{error.lineno}: {what}. Save the file again in ELAN.") from None
        except (LookupError, ValueError) as error:  # an encoding that Python lacks
            raise DataError(f"{path}: not readable XML: {error}. Save the file again in ELAN.") from None

    def _refused(self, what: str) -> DataError:
        return DataError(f"{self.path}:{self._parser.CurrentLineNumber}: {what}")

    def _doctype(self, *_: object) -> None:
        raise self._refused("declares a document type, which ELAN never does and which may hide other files. Refused.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        def need(name: str) -> str:
            if not attributes.get(name):
                raise self._refused(f"{tag} without {name}. Save the file again in ELAN.")
            return attributes[name]

        def milliseconds(name: str) -> int | None:
            text = attributes.get(name)
            if text is None:
                return None
            digits = text.removeprefix("-")
            if not (digits.isascii() and digits.isdigit()) or len(digits) > 15 or int(digits) > 1000 * MAX_SECONDS:
                raise self._refused(f"{name} {short(text)} is no time in milliseconds. Correct it in ELAN.")
            return int(text)

        def unique(name: str, kind: str, known: dict[str, int | None] | dict[str, _Note]) -> str:
            if (text := need(name)) in known:
                raise self._refused(f"{kind} {short(text)} appears twice. Save the file again in ELAN.")
            return text

        self._depth, self._tags = self._depth + 1, self._tags + 1
        if self._depth > MAX_DEPTH or self._tags > MAX_TAGS:
            raise self._refused("more or deeper tags than any annotation file has. Is it the right file?")
        self.root = self.root or tag
        if tag == "HEADER":
            self.units = attributes.get("TIME_UNITS") or "milliseconds"
        elif tag == "MEDIA_DESCRIPTOR":
            url = attributes.get("MEDIA_URL") or attributes.get("RELATIVE_MEDIA_URL") or ""
            self.media.append((url, attributes.get("MIME_TYPE", ""), milliseconds("TIME_ORIGIN") or 0))
        elif tag == "TIME_SLOT":
            slot = unique("TIME_SLOT_ID", "time slot", self.slots)
            self.slots[slot] = milliseconds("TIME_VALUE")
        elif tag == "TIER":
            self._tier = need("TIER_ID")
            self.annotators[self._tier] = attributes.get("ANNOTATOR") or None
        elif tag in ("ALIGNABLE_ANNOTATION", "REF_ANNOTATION"):
            note = _Note(need("ANNOTATION_ID"), self._parser.CurrentLineNumber, self._tier)
            if tag == "REF_ANNOTATION":
                note.parent = need("ANNOTATION_REF")
                if previous := attributes.get("PREVIOUS_ANNOTATION"):
                    self.parts |= {note.id, previous}
            else:
                note.slots = need("TIME_SLOT_REF1"), need("TIME_SLOT_REF2")
            self._note = self.notes[unique("ANNOTATION_ID", "annotation", self.notes)] = note
        self._texts = [] if tag == "ANNOTATION_VALUE" else None

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "ANNOTATION_VALUE" and self._note is not None and self._texts is not None:
            self._note.text = " ".join("".join(self._texts).split())[:MAX_TEXT]
        self._texts = None

"""Transcripts as recognisers and editors write them: WebVTT, SRT, JSON of Whisper and its kin, tiers of ELAN.

Cues are read here and by no library: pysubs2 1.8 takes identifiers and notes of WebVTT for words, a line of digits at
a cue's end ("twenty-nine, / 30") for the number of the next one, and drops who speaks.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.annotation_marks import MAX_MARKS, MAX_SECONDS, Mark, short
from siming_tasks.tools.builder.elan import read_elan
from siming_tasks.tools.builder.mapping import Words
from siming_tasks.tools.builder.sheet_tables import read_encoded

SUFFIXES = (".json", ".vtt", ".srt", ".eaf")
"""Of files that are read as transcripts. JSON says most: who speaks, and when each word is said."""
PAUSE = 1.0
"""Seconds between two words after which a new line begins."""
_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^<>]+)>")
_BREAK = re.compile(r"<br\s*/?>", re.I)
_FORMAT = re.compile(r"</?(?:c|i|b|u|s|em|strong|ruby|rt|lang|v|font|span)\b[^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}", re.I)
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")
_BRACKETED = re.compile(r"\[([^\[\]\n]{1,60})\]:\s*")
_NAMED = re.compile(r"([^\W\d_][\w .'’()-]{0,40}):\s+")
_SENTENCE = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
_TITLE = re.compile(r"(?:dr|mr|mrs|ms|prof|st)\.$", re.I)
_HLS_START = re.compile(r"X-TIMESTAMP-MAP=.*?(?:LOCAL:0*[0:.]+|MPEGTS:0+)\b.*?,(?:LOCAL:0*[0:.]+|MPEGTS:0+)\s*$")


@dataclass(frozen=True)
class Said:
    """One line of a transcript: words from ``start`` to ``end`` (seconds of the file's clock) by ``who``, if stated.

    ``where`` is its place in the file's words, ``line`` the line (None: the file has one line).
    """

    start: float
    end: float
    text: str
    who: str = ""
    where: str = ""
    line: int | None = None


@dataclass
class TranscriptFile:
    """Content of one file.

    Attributes:
        path: of the file.
        said: its lines, as they stand.
        problems: what is wrong with it, each kind once.
        videos: names that it gives its video itself, the likeliest first (ELAN); else its own name says which it is.
        recognised: a program that heard the sound alone wrote it, so that time 0 is where the sound begins.
    """

    path: Path
    said: list[Said] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    videos: tuple[str, ...] = ()
    recognised: bool = False

    def fault(self, code: str, what: str, fix: str, at: Said | None = None, severity: Any = "error") -> None:
        """Add a finding; one that is like an earlier one is counted there."""
        where = f"{at.where}: " if at and at.where else ""
        new = Problem(code, f"{where}{what}", fix, str(self.path), at.line if at else None, severity=severity)
        for index, known in enumerate(self.problems):
            if (known.code, known.fix) == (code, fix):
                text, _, more = known.what.partition(" The same holds for ")
                number = int(more.split()[0]) + 1 if more else 1
                self.problems[index] = replace(known, what=f"{text} The same holds for {number} more.")
                return
        self.problems.append(new)


def read_transcript(
    path: Path, words: Words, is_step: Callable[[Mark], bool], encoding: str | None = None
) -> TranscriptFile:
    """The lines of a file, whatever wrote it.

    Args:
        path: a file with one of :data:`SUFFIXES`.
        words: the mapping; ``speech`` names the tiers of an ELAN file that hold what is said.
        is_step: tells of an annotation that it means a step, so that nobody said it.
        encoding: of the text, if it is neither UTF-8 nor GB 18030.

    Raises:
        DataError: the file cannot be read at all.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: transcripts are WebVTT, SRT, Whisper's or WhisperX's JSON, or ELAN's .eaf.")
    if suffix == ".eaf":
        file = _from_elan(path, words, is_step)
    else:
        file = TranscriptFile(path)
        text = read_encoded(path, encoding, file.problems).replace("\r\n", "\n").replace("\r", "\n")
        if suffix == ".json":
            _read_json(file, text)
        else:
            _read_cues(file, text)
        _look_at_letters(file, text)
    if len(file.said) > MAX_MARKS:
        raise DataError(f"{path}: {len(file.said):,} lines; at most {MAX_MARKS:,} are read.")
    # A name that is split by a letter nobody sees would not be known.
    file.said = [replace(said, text=_as_seen(said.text), who=_as_seen(said.who)) for said in file.said]
    _look_at_times(file)
    _look_at_repeats(file)
    return file


def _as_seen(text: str) -> str:
    """The text in composed letters, on one line, without letters that nobody sees."""
    seen = (letter for letter in text if letter.isspace() or unicodedata.category(letter) not in ("Cf", "Cc"))
    return " ".join(unicodedata.normalize("NFC", "".join(seen)).split())


def _read_cues(file: TranscriptFile, text: str) -> None:
    """The cues of WebVTT or SRT: a line of two times and the words below it, to an empty line or the next cue."""
    blocks: list[list[tuple[int, str]]] = [[]]
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), 1):
        open_cue = blocks[-1]
        if _TIMING.fullmatch(line) and any("-->" in above or above.startswith("WEBVTT") for _, above in open_cue):
            # No empty line stands before this cue; its number, one more than that of the cue above, may.
            own = open_cue[0][1].strip()
            is_number = own.isdecimal() and open_cue[-1][1].strip() == str(int(own) + 1)
            blocks.append([open_cue.pop()] if is_number else [])
        if line.strip():
            blocks[-1].append((number, line))
        elif blocks[-1]:
            blocks.append([])
    blocks = [block for block in blocks if block]
    is_vtt = bool(blocks) and blocks[0][0][1].startswith("WEBVTT")
    if is_vtt:
        head = [line for _, line in blocks.pop(0)]
        if moved := next(
            (line for line in head if line.startswith("X-TIMESTAMP-MAP") and not _HLS_START.match(line)), ""
        ):
            what = f"its times are those of a piece of a stream ({short(moved)})."
            file.fault("transcript-clock", what, "Give a transcript of the whole video, without that line.")
    elif file.path.suffix.lower() == ".vtt" and blocks:
        file.fault("transcript-form", "does not begin with WEBVTT; read as SRT.", "Check it.", severity="warning")
    for block in blocks:
        if is_vtt and block[0][1].split()[0] in ("NOTE", "STYLE", "REGION"):
            if len(block) > 1 and _TIMING.fullmatch(block[1][1]):
                what, fix = "stands above a line of times: players show that cue.", "Delete one of the two."
                place = Said(0, 0, "", "", "", block[0][0])
                file.fault("transcript-form", f"{short(block[0][1])} {what}", fix, place)
            continue
        at = next((index for index, (_, line) in enumerate(block[:2]) if "-->" in line), None)
        place = Said(0, 0, "", "", "", block[0][0])
        if at is None:
            what = f"{short(block[0][1])} belongs to no cue: there is no line of times above it."
            file.fault("transcript-form", what, "Delete the empty line above it, or give it its times.", place)
            continue
        place = replace(place, line=block[at][0])
        if times := _cue_times(block[at][1]):
            file.said += _cue(file, replace(place, start=times[0], end=times[1]), [line for _, line in block[at + 1 :]])
        else:
            what = f"{short(block[at][1])} is no line of two times."
            file.fault("transcript-time", what, "Write it as 00:01:02.500 --> 00:01:04.000.", place)
    if not blocks and not is_vtt:
        raise DataError(f"{file.path}: an empty file. Is it the right one?")
    _name_speakers(file)


def _cue_times(line: str) -> tuple[float, float] | None:
    if not (found := _TIMING.fullmatch(line)):
        return None
    times = []
    for h, m, s, fraction in (found.groups()[:4], found.groups()[4:]):
        if int(m) > 59 or int(s) > 59 or len(h or "") > 3:
            return None
        times.append(int(h or 0) * 3600 + int(m) * 60 + int(s) + float(f"0.{fraction or 0}"))
    return times[0], times[1]


def _cue(file: TranscriptFile, place: Said, lines: Sequence[str]) -> Iterator[Said]:
    """One line for each voice of a cue, without the marks that say how it is shown."""
    first, *rest = _VOICE.split("\n".join(lines))
    voices = [("", first), *zip(rest[::2], rest[1::2], strict=True)]
    for who, text in voices:
        text = _FORMAT.sub("", _BREAK.sub(" ", text))
        if tag := _TAG.search(text):
            what = f"{short(tag[0])} among the words is no mark of a cue."
            file.fault("transcript-markup", what, "Write words alone.", place)
        text = html.unescape(text)
        if not who and (named := _BRACKETED.match(text)):  # WhisperX's way
            who, text = named[1], text[named.end() :]
        if text.strip():
            yield replace(place, text=text, who=html.unescape(who))


def _name_speakers(file: TranscriptFile) -> None:
    """Take ``Name:`` at the beginning for who speaks where half of the cues have it, as meetings' transcripts do."""
    named = [None if said.who else _NAMED.match(said.text) for said in file.said]
    if sum(match is not None for match in named) * 2 >= max(4, len(named)):
        file.said = [
            replace(said, who=match[1].strip(), text=said.text[match.end() :]) if match else said
            for said, match in zip(file.said, named, strict=True)
        ]


def _read_json(file: TranscriptFile, text: str) -> None:
    """Segments of Whisper, WhisperX, faster-whisper or OpenAI; ``transcription`` of whisper.cpp; ``chunks`` of HF."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file.path}: not JSON: {error}. Write it again.") from None
    stated = document if isinstance(document, dict) else {"segments": document}
    key = next((key for key in ("segments", "transcription", "chunks") if isinstance(stated.get(key), list)), None)
    if key is None or not all(isinstance(segment, dict) for segment in stated[key]):
        what = "JSON, but no transcript with times: it has none of `segments`, `transcription`, `chunks`."
        raise DataError(f"{file.path}: {what} Whisper writes one with --output_format json.")
    file.recognised = True
    for number, segment in enumerate(stated[key]):
        times = _stated_times(segment, key)
        place = Said(0, 0, "", str(segment.get("speaker") or ""), f"{key}[{number}]")
        spoken = segment.get("text")
        if not isinstance(spoken, str):
            file.fault("transcript-form", "has no text.", "Write the file again.", place)
        elif not all(map(_is_time, times)):
            what = f"{short(times)} are no start and end in seconds."
            file.fault("transcript-time", what, "Write the file again.", place)
        elif spoken.strip():
            scale = 1000 if key == "transcription" else 1  # whisper.cpp counts milliseconds
            whole = replace(place, start=times[0] / scale, end=times[1] / scale, text=spoken.strip())
            file.said += _sentences(whole, segment.get("words"))


def _stated_times(segment: dict[str, Any], key: str) -> tuple[Any, Any]:
    """Start and end as the file has them, under the key of its kind."""
    if key == "transcription":
        offsets = segment.get("offsets")
        return (offsets.get("from"), offsets.get("to")) if isinstance(offsets, dict) else (None, None)
    if key == "chunks":
        stamp = segment.get("timestamp")
        return (stamp[0], stamp[1]) if isinstance(stamp, list) and len(stamp) == 2 else (None, None)
    return segment.get("start"), segment.get("end")


def _is_time(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value <= MAX_SECONDS * 1000


def _sentences(whole: Said, words: Any) -> list[Said]:
    """A segment cut by the times of its words: after a sentence, at a pause, where another person speaks.

    Segments last up to 30 s and pass from one step to the next. A word without times (WhisperX has none for digits)
    belongs to the line before it; a segment whose words are not those of its text stays whole.
    """
    usable = isinstance(words, list) and all(isinstance(word, dict) for word in words)
    places: list[int] = []
    at = 0
    for word in words if usable else ():
        bare = str(word.get("word", "")).strip()
        at = whole.text.find(bare, at)
        if at < 0:
            return [whole]
        places.append(at)
        at += len(bare)
    groups: list[list[int]] = []
    end = whole.start
    for index, word in enumerate(words if places else ()):
        timed = _is_time(word.get("start")) and _is_time(word.get("end"))
        before = words[groups[-1][-1]] if groups else None
        said_before = str(before.get("word", "")).strip() if before else ""
        ended = bool(_SENTENCE.search(said_before)) and not _TITLE.search(said_before)
        other = before is not None and word.get("speaker", whole.who) != before.get("speaker", whole.who)
        if before is None or (timed and (ended or other or word["start"] - end >= PAUSE)):
            groups.append([])
        groups[-1].append(index)
        end = word["end"] if timed else end
    if len(groups) < 2:
        return [whole]
    cuts = [*(places[group[0]] for group in groups[1:]), len(whole.text)]
    lines = []
    for group, first, last in zip(groups, [0, *cuts], cuts, strict=False):
        of_group = [words[index] for index in group if _is_time(words[index].get("start"))]
        times = (of_group[0]["start"], of_group[-1]["end"]) if of_group else (whole.start, whole.start)
        who = str(words[group[0]].get("speaker") or whole.who)
        lines.append(replace(whole, start=times[0], end=times[1], text=whole.text[first:last].strip(), who=who))
    return lines


def _from_elan(path: Path, words: Words, is_step: Callable[[Mark], bool]) -> TranscriptFile:
    """The annotations of the tiers that hold what is said, by time.

    These are the tiers that ``speech`` names, else all that mean no step and belong to no other tier.
    """
    marks = read_elan(path, words)
    file = TranscriptFile(path, problems=list(marks.problems))
    file.videos = marks.marks[0].videos if marks.marks else ()
    if words.mapping.speech:
        chosen = [mark for mark in marks.marks if words.is_speech(mark.group)]
    else:
        left_out = [words.ignored(mark.group) or is_step(mark) or mark.dependent for mark in marks.marks]
        chosen = [mark for mark, out in zip(marks.marks, left_out, strict=True) if not out]
        if tiers := Counter(mark.group for mark in chosen):
            what = f"read as what is said: {', '.join(f'{short(name)} ({count})' for name, count in tiers.items())}."
            fix = "If a tier holds something else, write `speech: [TIER, ...]` in the mapping file (--columns)."
            file.fault("transcript-tiers", what, fix, severity="warning")
    for mark in chosen:
        if mark.fault:
            file.problems.append(mark.fault)
        elif mark.text:
            who = mark.speaker or mark.group
            file.said.append(Said(mark.start, mark.end, mark.text, who, mark.where, mark.line))
    file.said.sort(key=lambda said: (said.start, said.end))
    return file


def _look_at_letters(file: TranscriptFile, text: str) -> None:
    """Letters that were lost, or read in a wrong encoding and saved again."""
    if "\ufffd" in text:
        lost = next((said for said in file.said if "\ufffd" in said.text), None)
        if lost:
            fix = "Write the file again as UTF-8."
            file.fault("transcript-letters", "letters are lost (\ufffd).", fix, lost)
    foreign = "".join(said.text for said in file.said)
    if sum(letter > "\x7f" for letter in foreign) < 6:
        return
    for name in ("cp1252", "gb18030"):
        try:
            real = foreign.encode(name).decode("utf-8")
        except UnicodeError:
            continue
        if name == "cp1252" or len(real) < len(foreign):
            what = f"was read in a wrong encoding and saved again: {short(foreign[:20])} for {short(real[:20])}."
            file.fault("transcript-letters", what, "Save the original as UTF-8.")
            return


def _look_at_times(file: TranscriptFile) -> None:
    for said in file.said:
        if said.end < said.start:
            what = f"ends at {said.end:g} s and begins at {said.start:g} s."
            file.fault("transcript-time", what, "Correct its times.", said)
    for before, said in pairwise(file.said):
        if said.start < before.start:
            what = f"begins at {said.start:g} s, after one that begins at {before.start:g} s."
            file.fault("transcript-order", what, "Sort the lines by time, or correct the times.", said)


def _look_at_repeats(file: TranscriptFile) -> None:
    """Rolling captions, words lit up one by one and loops of a recogniser all say the same words again and again."""
    texts = [said.text.casefold() for said in file.said]
    again = [index for index, (before, text) in enumerate(pairwise(texts), 1) if len(before) > 12 and before in text]
    if len(texts) >= 6 and len(again) * 3 > len(texts):
        what = f"{len(again)} of {len(texts)} lines repeat the words of the line before."
        fix = "Export it without rolling or highlighted captions; words of a recogniser's loop are to be deleted."
        file.fault("transcript-repeated", what, fix, file.said[again[0]])

"""Transcripts of a build: each belongs to a video, is counted on its clock, and names nobody."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.annotation_marks import Mark, short
from siming_tasks.tools.builder.annotations import Matcher
from siming_tasks.tools.builder.cells import spelled
from siming_tasks.tools.builder.mapping import Words
from siming_tasks.tools.builder.transcript_files import SUFFIXES, Said, TranscriptFile, read_transcript
from siming_tasks.tools.builder.video_files import SLACK, VideoFile, VideoFiles

LATE = 0.25
"""Seconds by which the sound may begin after the pictures before it matters from which of them times are counted."""
_ROLE = re.compile(
    "(?:examiner|assessor|evaluator|instructor|teacher|candidate|trainee|student|learner|resident|doctor|physician"
    "|nurse|paramedic|patient|helper|assistant|bystander|colleague|actor|manikin|mannequin|monitor|device|aed|phone"
    "|dispatcher|voice|unknown|all|both|考官|评委|老师|教师|考生|学员|学生|医生|护士|患者|病人|家属|助手|同伴|路人|旁白"
    r"|设备|除颤仪)(?:[\s_-]*\d+)?"
)
"""Roles of speakers: they name nobody and stay, also with a number (`nurse 2`)."""
_LABEL = re.compile(r"(?:speaker|spk|spkr|s|说话人|发言人)[\s_-]*(?:\d+|[a-z])", re.IGNORECASE)
"""Names that recognisers give to voices: nobody's."""
_TITLE = re.compile("dr|prof|professor|mr|mrs|ms|miss|sir|rater|the|von|van|de|der|al|med|md|phd", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]+")
_CALLED = "老师|医生|医师|大夫|教授|主任|护士|同学|同志|先生|女士"
"""Words that follow a surname when somebody is addressed in Chinese."""
_FAMILIAR = "小老阿"
"""Letters that stand before a surname among colleagues (小王, 老李)."""
_TWO_LETTERS = (
    *("欧阳", "司马", "上官", "诸葛", "东方", "皇甫", "尉迟", "公孙", "慕容", "令狐", "长孙", "宇文", "司徒", "夏侯"),
    *("端木", "南宫", "西门", "独孤", "申屠", "闻人"),
)
"""Chinese surnames of two letters."""
_NO_NAMES = ("老师", "小时", "小于")
"""Words that are made of such a letter and what can be a surname."""


def transcript_files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """The files, and the name of each below the folder in which it was found.

    Raises:
        DataError: a folder holds none, or there is no such file.
    """
    found: dict[Path, str] = {}
    for path in paths:
        inside = sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES and each.is_file())
        if path.is_dir() and not inside:
            raise DataError(f"{path}: a folder without a transcript ({', '.join(SUFFIXES)}).")
        if not path.is_dir() and not path.is_file():
            raise DataError(f"{path}: no such file. Give transcripts, or their folder.")
        for each in inside if path.is_dir() else [path]:
            found.setdefault(each, each.relative_to(path).as_posix() if path.is_dir() else each.name)
    return list(found.items())


def read_transcripts(
    paths: Sequence[Path],
    words: Words,
    matcher: Matcher,
    videos: VideoFiles,
    labelled: Sequence[str],
    encoding: str | None = None,
) -> tuple[dict[str, TranscriptFile], list[Problem]]:
    """The transcript of each labelled video that has one, by the sheet's name, and what is wrong with any.

    Args:
        paths: files, or folders of them. A file is of the video whose name it begins with (``IMG_1.en.vtt``), an
            ELAN file of the video it links.
        words: the mapping, whose ``videos`` say which name means which.
        matcher: tells the annotations of an ELAN file that mean a step.
        videos: the video files.
        labelled: names of the videos that have rows in the sheet.
        encoding: of text that is neither UTF-8 nor GB 18030.
    """
    by_video: dict[str, list[TranscriptFile]] = {}
    problems: list[Problem] = []
    for path, name in transcript_files(paths):
        try:
            file = read_transcript(path, words, lambda mark: matcher.meaning(mark.words) != [], encoding)
        except DataError as error:
            problems.append(Problem("transcript-form", str(error).removeprefix(f"{path}: "), "", str(path)))
            continue
        candidates = list(_names(name, file, words, matcher))
        known = next((same for each in candidates if (same := videos.same(each, labelled))), None)
        if known:
            problems += file.problems
            by_video.setdefault(known, []).append(file)
        elif any(videos.find(each) for each in candidates):
            what = "is of a video that has no row in the sheet, and is left out."
            problems.append(Problem("transcript-spare", what, "Add its rows.", str(path), severity="warning"))
        else:
            what = f"no video is called {candidates[-1]!r}."
            fix = "Call it like its video, or write `videos: {NAME: VIDEO}` in the mapping file (--columns)."
            problems.append(Problem("transcript-unmatched", what, fix, str(path)))
    chosen = {video: _one(video, files, problems) for video, files in by_video.items()}
    problems += _copies(chosen)
    if chosen and (lacking := [video for video in labelled if video not in chosen]):
        what = f"{len(lacking)} of {len(labelled)} videos have no transcript ({', '.join(map(repr, lacking[:4]))})."
        fix = "Tasks that give one are refused until each has one; an empty file says that nothing is said."
        problems.append(Problem("transcript-missing", what, fix, severity="warning"))
    return chosen, problems


def _names(name: str, file: TranscriptFile, words: Words, matcher: Matcher) -> Iterator[str]:
    """Names that the video of a file may have: the link of ELAN, else its own name without one ending after another."""
    if file.videos:
        mark = Mark((), "", file.videos, str(file.path), None, "")
        yield matcher.video(mark)
    stem = name
    while "." in stem.rpartition("/")[2]:
        stem = stem.rpartition(".")[0]
        for each in dict.fromkeys((stem, stem.rpartition("/")[2])):
            yield words.meaning("videos", each) or each


def _one(video: str, files: Sequence[TranscriptFile], problems: list[Problem]) -> TranscriptFile:
    """The file that says most, if all say the same words (Whisper writes five files for a video)."""
    files = sorted(files, key=lambda file: SUFFIXES.index(file.path.suffix.lower()))
    said = {"".join(re.findall(r"\w", "".join(said.text for said in file.said).casefold())) for file in files}
    if len(said) > 1:
        what = (
            f"video {video!r} has {len(files)} transcripts that differ: {', '.join(str(file.path) for file in files)}."
        )
        problems.append(Problem("transcript-twice", what, "Give one of them.", str(files[0].path)))
    elif not files[0].said:
        what = f"video {video!r}: nothing is said in it."
        problems.append(Problem("transcript-empty", what, "Check it.", str(files[0].path), severity="warning"))
    return files[0]


def _copies(chosen: Mapping[str, TranscriptFile]) -> Iterator[Problem]:
    """Two videos with the same words at the same times: one of them has another's transcript."""
    first: dict[tuple[tuple[float, str], ...], str] = {}
    for video, file in chosen.items():
        said = tuple((line.start, line.text) for line in file.said)
        other = first.setdefault(said, video)
        if other != video and len(said) > 2:
            what = f"videos {other!r} and {video!r} have the same words at the same times."
            yield Problem("transcript-copy", what, "One of them has another's transcript.", str(file.path))


def on_the_clock(
    video: str, file: TranscriptFile, source: VideoFile, said_from: str | None, problems: list[Problem]
) -> list[Said]:
    """The lines with times from where a player begins the video, as those of the built one are.

    A recogniser that heard the sound alone counts from its beginning. Ends beyond the video's are cut back (Whisper
    works on pieces of 30 s); a line that begins there is an error.
    """
    late = source.sound or 0.0
    by_sound = said_from == "sound" or (said_from is None and file.recognised)
    if abs(late) > LATE and said_from is None and not file.recognised:
        what = f"video {video!r}: its sound begins {late:.2f} s after it, and times may be counted from there."
        fix = "Write `said_from: start` or `said_from: sound` in the mapping file (--columns)."
        problems.append(Problem("transcript-clock", what, fix, str(file.path)))
    lines: list[Said] = []
    cut = 0
    for said in file.said:
        start, end = (max(0.0, time + late) if by_sound else time for time in (said.start, said.end))
        if start >= source.duration:
            what = f"begins at {start:g} s, but video {video!r} ends at {source.duration:.2f} s."
            fix = "Delete what is said after the last picture, or check that it is this video's transcript."
            file.fault("transcript-outside", what, fix, said)
            continue
        cut += end > source.duration + SLACK
        lines.append(replace(said, start=start, end=min(end, source.duration)))
    problems += [problem for problem in file.problems if problem.code == "transcript-outside"]
    if cut:
        what = f"ends after the video's {source.duration:.2f} s were cut back, in {cut} of {len(file.said)} lines."
        problems.append(Problem("transcript-cut", what, "Nothing to do.", str(file.path), severity="warning"))
    return lines


@dataclass
class Names:
    """Names of people, and what stands in a transcript in their place.

    Attributes:
        places: by name, what stands in its place; a name that is its own place stays.
        found: by word as it was said and its place, how often it was met.
        met: names of which anything was met.
    """

    places: Mapping[str, str]
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    met: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, stated: Mapping[str, str], *people: Mapping[str, str]) -> Names:
        """Names of the mapping file, then of the sheet (students, raters); where two are alike, the first counts."""
        places = {" ".join(name.split()): place for name, place in stated.items()}
        for names in people:
            for name, place in names.items():
                is_name = any(map(str.isalpha, name)) and not any(map(str.isdigit, name))
                if name != place and is_name and not _ROLE.fullmatch(name.casefold()):
                    places.setdefault(" ".join(name.split()), place)
        return cls(places)

    @cached_property
    def _wanted(self) -> dict[str, str]:
        """The name by each form in which it is said."""
        wanted: dict[str, str] = {}
        for name in self.places:
            for form in _forms(name):
                wanted.setdefault(form, name)
        return wanted

    def replaced(self, text: str) -> str:
        """The text with the names, parts of them and Chinese surnames of people who are addressed replaced."""
        bare = _bare(text)
        small = " ".join(bare.casefold().split())
        near = [form for form in self._wanted if form.rstrip("|").casefold() in small]
        if not near:
            return text
        pieces, at = [], 0
        for match in re.finditer("|".join(map(_pattern, sorted(near, key=len, reverse=True))), bare):
            form = " ".join(match[0].split())
            name = next(self._wanted[key] for key in (form, form.casefold(), f"{form}|") if key in self._wanted)
            self.met.add(name)
            if self.places[name] != name:
                self.found[" ".join(text[match.start() : match.end()].split()), self.places[name]] += 1
                pieces += [text[at : match.start()], self.places[name]]
                at = match.end()
        return "".join([*pieces, text[at:]])

    def speaker(self, who: str) -> str | None:
        """Name of a speaker in the data set: its place, or its role; None: it is to get a number."""
        plainly = " ".join(spelled(who).split()).casefold()
        for name, place in self.places.items():
            if _bare(plainly) == _bare(name).casefold():
                self.met.add(name)
                return place
        return plainly if _ROLE.fullmatch(plainly) else None


def nameless(lines: Sequence[Said], names: Names) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The ``transcript`` of a video's row, and the speakers who got a number; their names are replaced where said."""
    speakers: dict[str, str] = {}
    called: dict[str, str] = {"": ""}
    for who in dict.fromkeys(line.who for line in lines if line.who):
        if (known := names.speaker(who)) is None:
            known = speakers[who] = f"speaker {len(speakers) + 1}"
        called[who] = known
    also = {" ".join(who.split()): number for who, number in speakers.items() if not _LABEL.fullmatch(who)}
    within = Names({**also, **names.places}, names.found, names.met) if also else names
    rows = []
    for line in lines:
        times = {"start": round(line.start, 3), "end": round(line.end, 3)}
        by = {"who": called[line.who]} if line.who else {}
        rows.append({**times, "text": within.replaced(line.text), **by})
    return rows, speakers


def name_problems(
    names: Names, stated: Mapping[str, str], speakers: Mapping[str, Mapping[str, str]]
) -> Iterator[Problem]:
    """Numbers of what was replaced (the names stand in the private table), and names of the mapping never met."""
    if unmet := [name for name in stated if " ".join(name.split()) not in names.met]:
        what = f"`names:` has {', '.join(map(short, unmet[:4]))}, which nobody says and no speaker is called."
        yield Problem("mapping-unmatched", what, "Write the name as it is said, or delete the entry.")
    if names.found:
        what = f"{names.found.total()} words in transcripts were replaced as names; the private table lists them."
        fix = "Look at it; in the mapping file (--columns) `names: {WORD: WORD}` keeps one, `{NAME: nurse}` adds one."
        yield Problem("transcript-names", what, fix, severity="warning")
    if numbered := sum(map(len, speakers.values())):
        what = f"{numbered} speakers are called by a number; the private table lists them."
        fix = "In the mapping file (--columns), `names: {NAME: examiner}` says what one is."
        yield Problem("transcript-speakers", what, fix, severity="warning")


def _bare(text: str) -> str:
    """The text with Latin letters bare of accents and one kind of apostrophe, as long as it was.

    Example:
        >>> _bare("José O’Neil, 小明")
        "Jose O'Neil, 小明"
    """
    first = (unicodedata.normalize("NFKD", letter)[0] for letter in text)
    return "".join(
        "'" if letter in "’‘ʼ" else plain if plain.isascii() else letter
        for letter, plain in zip(text, first, strict=True)
    )


def _forms(name: str) -> list[str]:
    """Forms in which a name is said, bare and folded: the whole name, its parts, and a Chinese surname (``|``).

    Parts of two letters count with their capital alone, single letters not at all. A title after a Chinese name is no
    part of it. A surname counts before a title and after 小 or 老.

    Example:
        >>> _forms("Dr. Li Wang"), _forms("王小明"), _forms("李老师")
        (['dr. li wang', 'wang', 'Li'], ['王小明', '小明', '王|'], ['李老师', '李|'])
    """
    if _HAN.fullmatch(name):
        own = re.sub(rf"(?:{_CALLED})$", "", name) or name
        surname = own[:2] if own[:2] in _TWO_LETTERS else own[0]
        given = own[len(surname) :]
        return [*([name] if len(name) > 1 else []), *([given] if len(given) > 1 else []), f"{surname}|"]
    name = _bare(name)
    forms = [name.casefold()] if len(name) > 2 else [name] if len(name) > 1 else []
    parts = [part for part in re.split(r"[^\w']+|_", name) if not _TITLE.fullmatch(part)]
    return [*dict.fromkeys([*forms, *(part.casefold() for part in parts if len(part) > 2),
                            *(part.capitalize() for part in parts if len(part) == 2)])]  # fmt: skip


def _pattern(form: str) -> str:
    if form.endswith("|"):
        surname = form[:-1]
        familiar = "".join(letter for letter in _FAMILIAR if letter + surname not in _NO_NAMES)
        return f"{surname}(?={_CALLED})|(?<=[{familiar}]){surname}"
    if _HAN.search(form):
        return re.escape(form)
    words = r"\s+".join(map(re.escape, form.split()))
    return rf"(?<!\w){f'(?i:{words})' if form == form.casefold() else words}(?!\w)"

"""Spans out of the files of annotation tools: which step of which video each annotation shows.

A listing of the labels, and a draft of the mapping file that gives them a meaning, come before a build.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import one_line
from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.tools.builder import boris, elan, label_studio
from siming_tasks.tools.builder.annotation_marks import Mark, Marks, short
from siming_tasks.tools.builder.cells import folded
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.mapping import SheetMapping, Words, read_mapping
from siming_tasks.tools.builder.video_files import VideoFiles

FORMATS = (elan.FORMAT, boris.FORMAT, label_studio.FORMAT)
_SHEETS = (".csv", ".tsv", ".txt", ".xlsx", ".jsonl")
_SUFFIXES = (*dict.fromkeys(suffix for each in FORMATS for suffix in each.suffixes if suffix not in _SHEETS), *_SHEETS)
"""Suffixes of files that may hold spans."""
KINDS = 3
"""Names of one tier that are told one by one."""


def span_files(paths: Path | Sequence[Path] | None) -> list[Path]:
    """The files of spans: those given, and all of a folder that is given.

    Raises:
        DataError: a folder holds none.
    """
    files: list[Path] = []
    for path in [paths] if isinstance(paths, Path) else paths or []:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.suffix.lower() in _SUFFIXES and each.is_file())
            if not inside:
                raise DataError(f"{path}: a folder without a file of spans ({', '.join(_SUFFIXES)}).")
            files += inside
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def read_marks(path: Path, words: Words, rate: float | None = None, encoding: str | None = None) -> Marks | None:
    """The annotations of a file; None if it is no annotation tool's but a sheet with our own columns.

    Args:
        path: of a file of one of the :data:`FORMATS`, or a sheet.
        words: the mapping; one that says which column is the start makes any sheet one of ours.
        rate: frames per second, where the file counts frames and has no rate.
        encoding: of a CSV file.

    Raises:
        DataError: the file cannot be read at all.
    """
    suffix = path.suffix.lower()
    if way_out := next((each.refused[suffix] for each in FORMATS if suffix in each.refused), None):
        raise DataError(f"{path}: {way_out}")
    if suffix not in _SUFFIXES:
        files = ", ".join(each.files for each in FORMATS)
        what = f"spans are read from {files}, or a sheet (.csv, .tsv, .xlsx, .jsonl). Export it as one of these."
        raise DataError(f"{path}: {what}")
    per_second = Fraction(str(rate)) if rate else words.rate
    read = next((each.read for each in FORMATS if suffix in each.suffixes), None)
    return read(path, words, per_second, encoding) if read else None


class Matcher:
    """Gives annotations their step and video by the rubric, the mapping and the names of the video files."""

    def __init__(self, rubric: Rubric, words: Words, is_video: Callable[[str], object] | None = None) -> None:
        self.words = words
        self._steps = {folded(step): step for step in rubric.by_id}
        self._is_video = is_video or (lambda name: False)
        self._known: dict[tuple[str, ...], list[str] | None] = {}

    def meaning(self, words: tuple[str, ...]) -> list[str] | None:
        """The steps that these names mean (by the mapping, its most specific entry first, else by id); None: left out.

        Every entry of the mapping that names one of them has met something, also where another decides.
        """
        if words not in self._known:
            mapped = [step for word in words if (step := self.words.meaning("steps", word))]
            ids = dict.fromkeys(self._steps[name] for name in map(folded, words) if name in self._steps)
            left_out = sum(self.words.ignored(word) for word in words)
            self._known[words] = None if left_out else mapped[:1] or list(ids)
        return self._known[words]

    def video(self, mark: Mark) -> str:
        """The name by which the score sheet or the folder knows a video that a tool knows by a path of its own.

        The mapping's ``videos`` come first; then the longest end of the path that is a file of the folder; then the
        file's name alone.
        """
        tails = [re.split(r"[\\/]+", name) for name in mark.videos]
        candidates = ["/".join(parts[at:]) for parts in tails for at in range(len(parts))]
        for each in candidates:
            if mapped := self.words.meaning("videos", each):
                return mapped
        return next((each for each in candidates if each and self._is_video(each)), tails[0][-1] if tails else "")

    def rows(self, marks: Sequence[Mark]) -> tuple[list[LabelRow], list[Problem]]:
        """One row for each step of each video, and what is wrong."""
        chosen, file = self.words.mapping.annotator, marks[0].file if marks else None
        by_step: dict[str, list[Mark]] = {}
        unknown: dict[str, list[Mark]] = {}
        left_out: Counter[str] = Counter()
        problems: list[Problem] = []
        for mark in marks:
            steps = self.meaning(mark.words)
            if steps is None:
                left_out[mark.group] += 1
            elif chosen is not None and mark.by is not None and mark.by != chosen:
                left_out[f"annotator {mark.by}"] += 1
            elif not steps:
                unknown.setdefault(mark.group, []).append(mark)
            elif len(steps) == 1 or mark.fault:
                by_step.setdefault(steps[0], []).append(mark)
            else:
                what = f"names two steps, {' and '.join(map(repr, steps))}."
                fix = f"Say which in the mapping file (--columns): `steps: {{{short(mark.words[0])}: STEP}}`."
                problems.append(mark.problem("two-steps", what, fix))
        names = sorted({mark.by for mark in marks if mark.by is not None})
        used = {mark.by for alike in by_step.values() for mark in alike} - {None}
        if chosen is not None and names and chosen not in names:
            what, fix = f"`annotator: {chosen}` made none of the annotations.", f"There are {', '.join(names[:8])}."
            problems.append(Problem("mapping-unmatched", what, fix, file))
        if chosen is None and len(used) > 1:
            what = f"{len(names)} people annotated: {', '.join(names[:8])}."
            fix = f"Choose one in the mapping file (--columns), such as `annotator: {names[0]}`."
            problems.append(Problem("annotators", what, fix, file))
        for group, unmatched in unknown.items():
            problems += _unknown(group, unmatched)
        problems += _faults(mark for alike in by_step.values() for mark in alike)

        groups: dict[tuple[str, str], list[Mark]] = {}
        for step, alike in by_step.items():
            for mark in alike:
                if not mark.fault:
                    groups.setdefault((self.video(mark), step), []).append(mark)
        rows = [self._row(video, step, group, problems) for (video, step), group in groups.items()]
        if left_out:
            shown = ", ".join(f"{short(name)} ({count})" for name, count in left_out.most_common(8))
            more = f" and {len(left_out) - 8} more" if len(left_out) > 8 else ""
            what = f"{left_out.total()} annotations left out on purpose: {shown}{more}."
            problems.append(Problem("annotations-left-out", what, "Nothing to do.", file, severity="warning"))
        return rows, problems

    def _row(self, video: str, step: str, group: list[Mark], problems: list[Problem]) -> LabelRow:
        group = sorted(group, key=lambda mark: (mark.start, mark.end))
        first = group[0]
        file = first.file if first.line else f"{first.file} [{first.where}]"
        row = LabelRow(video, step, file, (first.line or 0,), first.start, max(mark.end for mark in group))
        if len(group) > 1 and self.words.mapping.repeated != "join":
            times = ", ".join(f"{mark.start:g}-{mark.end:g} s" for mark in group[:5])
            what = f"annotated {len(group)} times: {times}{', ...' if len(group) > 5 else ''}."
            fix = "Keep one, or write `repeated: join` in the mapping file (--columns) for all from the first's start "
            problems.append(row.problem("span-repeated", what, f"{fix}to the last's end."))
        return row


def _faults(marks: Iterable[Mark]) -> list[Problem]:
    """Reasons why annotations are no spans, each reason once."""
    alike: dict[tuple[str, str], list[Problem]] = {}
    for mark in marks:
        if mark.fault:
            reason = mark.fault.what.removeprefix(mark.where)
            alike.setdefault((mark.fault.code, reason), []).append(mark.fault)
    return [
        replace(first, what=f"{first.what} The same holds for {len(more)} more.") if more else first
        for first, *more in alike.values()
    ]


def _unknown(group: str, marks: Sequence[Mark]) -> Iterator[Problem]:
    """A finding for each name; one for the whole tier if its annotations have many."""
    kinds: dict[str, list[Mark]] = {}
    for mark in marks:
        kinds.setdefault(mark.words[0] if mark.words else "", []).append(mark)
    if "" in kinds and not group.strip():
        fix = "Give it a label in the tool it comes from, or delete it there."
        yield kinds[""][0].problem("label-missing", f"an annotation without a label ({len(kinds[''])} in all).", fix)
        return
    for word, alike in {group: list(marks)}.items() if len(kinds) > KINDS else kinds.items():
        shown = short(word)[1:-1]
        count = f"{len(alike)} annotations, the first" if len(alike) > 1 else "annotated"
        what = f"{short(word)} ({count} at {alike[0].start:g} s) is no step of the rubric."
        also = f" (or one of {', '.join(map(short, alike[0].words[1:]))})" if word == alike[0].words[0] != group else ""
        fix = f"Write `steps: {{{shown}: STEP}}` or `ignore: [{shown}]`{also} in the mapping file (--columns)."
        fix += " `siming data build --list --draft FILE` drafts one."
        yield Problem("label-unknown", what, fix, alike[0].file, alike[0].line)


@dataclass(frozen=True)
class Label:
    """A name that annotations have, how many have it, and what it means.

    ``step`` is the rubric's step, or "" if there is none; ``left_out``: the mapping leaves it out; ``spans`` is how
    many of them have a start and an end; ``like`` is a step that it may mean, ``sure`` if that is the step's own name.
    """

    name: str
    count: int
    spans: int
    step: str = ""
    left_out: bool = False
    like: str = ""
    sure: bool = False


@dataclass
class Survey:
    """The labels, annotators and videos of all files, and what was found on the way."""

    files: list[Path]
    labels: list[Label] = field(default_factory=list)
    annotators: Counter[str] = field(default_factory=Counter)
    videos: Counter[str] = field(default_factory=Counter)
    missing: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def survey(
    spans: Path | Sequence[Path],
    rubric: Rubric,
    videos: Path | None = None,
    mapping: Path | None = None,
    rate: float | None = None,
    encoding: str | None = None,
) -> Survey:
    """List the content of annotation files (or of their folder), and the steps that the labels may mean.

    Args:
        spans: the files, or their folder.
        rubric: with the steps.
        videos: the folder of the video files, to say which are missing.
        mapping: a mapping file that says something already.
        rate: frames per second of spans that are counted in frames.
        encoding: of CSV files.

    Raises:
        DataError: a file cannot be read, or is no annotation tool's.
    """
    words = Words(read_mapping(mapping) if mapping else SheetMapping())
    folder = VideoFiles(videos) if videos else None
    matcher = Matcher(rubric, words, folder.find if folder else None)
    result = Survey(span_files(spans))
    marks: list[Mark] = []
    for path in result.files:
        file_marks = read_marks(path, words, rate, encoding)
        if file_marks is None:
            *tools, last = (each.name for each in FORMATS)
            what = f"labels are listed of {', '.join(tools)} and {last}."
            raise DataError(f"{path}: a sheet with columns of its own; {what}")
        marks += file_marks.marks
        result.problems += file_marks.problems
    result.annotators.update(mark.by for mark in marks if mark.by is not None)
    result.videos.update(map(matcher.video, marks))
    result.missing = {name for name in result.videos if folder and not folder.find(name)}

    groups: dict[str, dict[tuple[str, ...], list[Mark]]] = {}
    for mark in marks:
        groups.setdefault(mark.group, {}).setdefault(mark.words, []).append(mark)
    for group, kinds in groups.items():
        # The names of one tier that all mean the same are listed once.
        meanings = {str(matcher.meaning(words_of_mark)) for words_of_mark in kinds}
        if len(meanings) == 1 and (len(kinds) > KINDS or (group and matcher.meaning((group,)) != [])):
            kinds = {(group,): [mark for alike in kinds.values() for mark in alike]}
        for names, alike in kinds.items():
            steps, timed = matcher.meaning(names), sum(mark.fault is None for mark in alike)
            like, sure = _likely(names, rubric) if steps == [] else ("", False)
            name, shown = names[0] if names else "", " and ".join(steps or ())
            result.labels.append(Label(name, len(alike), timed, shown, steps is None, like, sure))
    return result


def _likely(words: Sequence[str], rubric: Rubric) -> tuple[str, bool]:
    """The step that a label most resembles, and whether it is the step's name."""
    names: dict[str, list[RubricStep]] = {}
    for step in rubric.steps:
        for name in filter(None, (step.id, step.name, step.name_zh)):
            names.setdefault(folded(name), []).append(step)
    for word in words:
        if len(steps := names.get(folded(word), [])) == 1:
            return steps[0].id, True
    for word in words:
        if near := difflib.get_close_matches(folded(word)[:200], names, 1, 0.7):
            return names[near[0]][0].id, False
    return "", False


def write_draft(path: Path, listing: Survey) -> None:
    """A mapping file that says what is known already, with a line to complete for every label that is unknown.

    Raises:
        DataError: there is a file of this name.
    """

    def quoted(text: str) -> str:
        """Text as YAML reads it back, whatever is in it."""
        return json.dumps(text, ensure_ascii=not text.isprintable())

    if path.exists():
        raise DataError(f"{path}: exists. Name another file for the draft, or give this one as --columns.")
    files = ", ".join(path.name for path in listing.files[:5]) + (" and others" if len(listing.files) > 5 else "")
    lines = [f"# Drafted from {one_line(files)}. Complete a line and take its # away, or leave the label out below."]
    unknown = [label for label in listing.labels if not label.step and not label.left_out and label.name]
    lines.append("steps:")
    for label in unknown:
        hint = f"{label.count} annotation{'s' if label.count > 1 else ''}"
        if label.like:
            hint += "; the step's name" if label.sure else f"; similar: {label.like}"
        entry = f"{quoted(label.name)}: {label.like}" if label.sure else f"# {quoted(label.name)}: STEP"
        lines.append(f"  {entry}  # {hint}")
    lines += ["ignore:", *(f"  # - {quoted(label.name)}" for label in unknown if not label.sure)]
    if listing.missing:
        lines += ["videos:  # the names in the score sheet of those that the folder lacks"]
        lines += [f"  # {quoted(name)}: VIDEO" for name in sorted(listing.missing)]
    if len(listing.annotators) > 1:
        lines += [f"# annotator: {quoted(name)}  # {count} annotations" for name, count in listing.annotators.items()]
    with atomic_write(path) as stream:
        stream.write("\n".join(lines) + "\n")

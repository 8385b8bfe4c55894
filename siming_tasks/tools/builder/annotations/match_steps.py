"""Annotations to the rows that a build fills into the score sheet's: which step each shows, and of which video."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.sheets.cell_values import folded
from siming_tasks.tools.builder.sheets.label_rows import LabelRow
from siming_tasks.tools.builder.sheets.mapping import Words

__all__ = [
    "MAX_BYTES",
    "MAX_MARKS",
    "MAX_SECONDS",
    "Mark",
    "Marks",
    "Matcher",
    "Sorted",
    "bounded",
    "joined",
    "short",
    "video_name",
]

MAX_BYTES = 32_000_000
"""Largest annotation file. An hour of video with 1,000 annotations has about 300,000 bytes."""
MAX_MARKS = 200_000
"""Annotations of one file."""
MAX_SECONDS = 1e6
"""Latest time; a later one (eleven days) is a date or a number of another unit."""


@dataclass(frozen=True)
class Mark:
    """One annotation.

    Attributes:
        words: what may say which step it shows, the most specific first (``tier / value``, the value, the tier).
        group: the tier, behaviour or label under which annotations that nobody knows are told together.
        videos: names that its video may have, the likeliest first.
        file: where it stands; ``line`` from 1 (None: the tool writes one line), ``where`` in its words.
        start: seconds of the video.
        end: seconds of the video.
        by: who made it, if the file says so.
        fault: why it is no span; a fault only if the annotation is used.
    """

    words: tuple[str, ...]
    group: str
    videos: tuple[str, ...]
    file: str
    line: int | None
    where: str
    start: float = 0.0
    end: float = 0.0
    by: str | None = None
    fault: Problem | None = None

    def problem(self, code: str, what: str, fix: str) -> Problem:
        """A finding about this annotation."""
        return Problem(code, f"{self.where}: {what}", fix, self.file, self.line)


@dataclass(frozen=True)
class Marks:
    """Annotations of a file, and findings about the file."""

    marks: tuple[Mark, ...]
    problems: tuple[Problem, ...] = ()


def joined(*words: str | None) -> tuple[str, ...]:
    """The names of an annotation: all its words together, then each, without repetition or empty ones."""
    parts = [word.strip() for word in words if word and word.strip()]
    return tuple(dict.fromkeys(([" / ".join(parts)] if len(parts) > 1 else []) + parts[::-1]))


def bounded(path: Path, marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """The annotations, if they are not more than any exam has.

    Raises:
        DataError: they are.
    """
    marks = tuple(marks)
    if len(marks) > MAX_MARKS:
        raise DataError(f"{path}: {len(marks):,} annotations; at most {MAX_MARKS:,} are read. Export fewer at a time.")
    return marks


def short(text: object) -> str:
    """A stranger's text as it is quoted in a message."""
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:76] + "...'"


KINDS = 3
"""Names of one tier that are told one by one."""
Found = Callable[[str], object]
"""Whether a file of this name is among the videos (anything true)."""


class Sorted:
    """Result of matching: the annotations by what became of them.

    Attributes:
        steps: the annotations of each step.
        left_out: how many are left out on purpose, by tier, behaviour or annotator.
        unknown: those whose names are no step's.
        problems: annotations that name two steps, or that several people made.
    """

    def __init__(self) -> None:
        self.steps: dict[str, list[Mark]] = {}
        self.left_out: Counter[str] = Counter()
        self.unknown: list[Mark] = []
        self.problems: list[Problem] = []


class Matcher:
    """Gives annotations their step and video by the rubric, the mapping and the names of the video files."""

    def __init__(self, rubric: Rubric, words: Words, video_of: Found | None = None) -> None:
        self.words = words
        self._steps = {folded(step): step for step in rubric.by_id}
        self._found = video_of or (lambda name: False)
        self._known: dict[tuple[str, ...], list[str] | None] = {}

    def sort(self, marks: Sequence[Mark]) -> Sorted:
        """The annotations by step."""
        result = Sorted()
        chosen = self.words.mapping.annotator
        for mark in marks:
            if mark.words not in self._known:
                self._known[mark.words] = self.meaning(mark.words)
            steps = self._known[mark.words]
            if steps is None:
                result.left_out[mark.group] += 1
            elif chosen is not None and mark.by is not None and mark.by != chosen:
                result.left_out[f"annotator {mark.by}"] += 1
            elif not steps:
                result.unknown.append(mark)
            elif len(steps) == 1 or mark.fault:
                result.steps.setdefault(steps[0], []).append(mark)
            else:
                what = f"names two steps, {' and '.join(map(repr, steps))}."
                fix = f"Say which in the mapping file (--columns): `steps: {{{short(mark.words[0])}: STEP}}`."
                result.problems.append(mark.problem("two-steps", what, fix))
        self._annotators(marks, result)
        return result

    def meaning(self, words: tuple[str, ...]) -> list[str] | None:
        """The steps that these names mean (by the mapping, its most specific entry first, else by id); None: left out.

        Every entry of the mapping that names one of them has met something, also where another decides.
        """
        mapped = [step for word in words if (step := self.words.meaning("steps", word))]
        if sum(self.words.ignored(word) for word in words):
            return None
        return mapped[:1] or list(
            dict.fromkeys(self._steps[name] for name in map(folded, words) if name in self._steps)
        )

    def _annotators(self, marks: Sequence[Mark], result: Sorted) -> None:
        names = sorted({mark.by for mark in marks if mark.by is not None})
        chosen = self.words.mapping.annotator
        if chosen is not None and names and chosen not in names:
            what, fix = f"`annotator: {chosen}` made none of the annotations.", f"There are {', '.join(names[:8])}."
            result.problems.append(Problem("mapping-unmatched", what, fix, marks[0].file))
        used = {mark.by for each in result.steps.values() for mark in each} - {None}
        if chosen is None and len(used) > 1:
            what = f"{len(names)} people annotated: {', '.join(names[:8])}."
            fix = f"Choose one in the mapping file (--columns), such as `annotator: {names[0]}`."
            result.problems.append(Problem("annotators", what, fix, marks[0].file))

    def rows(self, marks: Sequence[Mark]) -> tuple[list[LabelRow], list[Problem]]:
        """One row for each step of each video, and what is wrong."""
        result = self.sort(marks)
        problems = result.problems
        for group, unknown in _grouped(result.unknown).items():
            problems += _unknown(group, unknown)
        groups: dict[tuple[str, str], list[Mark]] = {}
        problems += _faults(mark for matched in result.steps.values() for mark in matched)
        for step, matched in result.steps.items():
            for mark in matched:
                if not mark.fault:
                    video = video_name(mark.videos, self.words, self._found)
                    groups.setdefault((video, step), []).append(mark)
        rows = [self._row(video, step, group, problems) for (video, step), group in groups.items()]
        if result.left_out:
            shown = ", ".join(f"{short(name)} ({count})" for name, count in result.left_out.most_common(8))
            more = f" and {len(result.left_out) - 8} more" if len(result.left_out) > 8 else ""
            what = f"{result.left_out.total()} annotations left out on purpose: {shown}{more}."
            problems.append(Problem("annotations-left-out", what, "Nothing to do.", marks[0].file, severity="warning"))
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


def _grouped(unknown: Iterable[Mark]) -> dict[str, list[Mark]]:
    groups: dict[str, list[Mark]] = {}
    for mark in unknown:
        groups.setdefault(mark.group, []).append(mark)
    return groups


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


def video_name(names: Sequence[str], words: Words, video_of: Found) -> str:
    """The name by which the score sheet or the folder knows a video that a tool knows by a path of its own.

    The mapping's ``videos`` come first; then the longest end of the path that is a file of the folder; then the file's
    name alone.
    """
    tails = [re.split(r"[\\/]+", name) for name in names]
    candidates = ["/".join(parts[at:]) for parts in tails for at in range(len(parts))]
    for each in candidates:
        if mapped := words.video(each):
            return mapped
    return next((each for each in candidates if each and video_of(each)), tails[0][-1] if tails else "")

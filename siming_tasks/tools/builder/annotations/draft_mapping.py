"""Listing of an annotation file's content before a build, and a draft of its mapping file."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import one_line
from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.tools.builder.annotations.detect_format import read_marks, span_files
from siming_tasks.tools.builder.annotations.match_steps import KINDS, Mark, Matcher, video_name
from siming_tasks.tools.builder.sheets.cell_values import folded
from siming_tasks.tools.builder.sheets.mapping import SheetMapping, Words, read_mapping
from siming_tasks.tools.builder.sheets.match_videos import VideoFiles

__all__ = ["Label", "Survey", "survey", "write_draft"]


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
    videos: dict[str, int] = field(default_factory=dict)
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
    """List the content of annotation files.

    Args:
        spans: the files, or their folder.
        rubric: whose steps the labels may mean.
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
            raise DataError(
                f"{path}: a sheet with columns of its own; labels are listed of ELAN, BORIS and Label Studio."
            )
        marks += file_marks.marks
        result.problems += file_marks.problems
    result.annotators.update(mark.by for mark in marks if mark.by is not None)
    for mark in marks:
        name = video_name(mark.videos, words, folder.find if folder else lambda name: False)
        result.videos[name] = result.videos.get(name, 0) + 1
    result.missing = {name for name in result.videos if folder and not folder.find(name)}
    result.labels = _labels(marks, matcher, rubric)
    return result


def _labels(marks: Sequence[Mark], matcher: Matcher, rubric: Rubric) -> list[Label]:
    groups: dict[str, dict[tuple[str, ...], list[Mark]]] = {}
    for mark in marks:
        groups.setdefault(mark.group, {}).setdefault(mark.words, []).append(mark)
    labels = []
    for group, kinds in groups.items():
        whole = matcher.meaning((group,)) if group else []
        if len(kinds) > KINDS or whole != []:
            kinds = {(group,): [mark for each in kinds.values() for mark in each]} if _alike(kinds, matcher) else kinds
        for words, alike in kinds.items():
            steps = matcher.meaning(words)
            spans = sum(mark.fault is None for mark in alike)
            like, sure = ("", False) if steps is None or steps else _likely(words, rubric)
            name = words[0] if words else ""
            labels.append(Label(name, len(alike), spans, " and ".join(steps or ()), steps is None, like, sure))
    return labels


def _alike(kinds: dict[tuple[str, ...], list[Mark]], matcher: Matcher) -> bool:
    """True if the names of one tier all mean the same, so that the tier is listed once."""
    return len({tuple(steps) if (steps := matcher.meaning(words)) is not None else None for words in kinds}) == 1


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
        entry = f"{_quoted(label.name)}: {label.like}" if label.sure else f"# {_quoted(label.name)}: STEP"
        lines.append(f"  {entry}  # {hint}")
    lines += ["ignore:", *(f"  # - {_quoted(label.name)}" for label in unknown if not label.sure)]
    if listing.missing:
        lines += ["videos:  # the names in the score sheet of those that the folder lacks"]
        lines += [f"  # {_quoted(name)}: VIDEO" for name in sorted(listing.missing)]
    if len(listing.annotators) > 1:
        lines += [f"# annotator: {_quoted(name)}  # {count} annotations" for name, count in listing.annotators.items()]
    with atomic_write(path) as stream:
        stream.write("\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    """Text as YAML reads it back, whatever is in it."""
    return json.dumps(text, ensure_ascii=not text.isprintable())

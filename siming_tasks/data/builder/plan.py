"""Everything about a build that is decided, and everything that can go wrong, before a video is touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from siming_tasks.data.builder.consensus import Decision, decide
from siming_tasks.data.builder.labels import LabelRow, read_labels
from siming_tasks.data.builder.mapping import read_mapping
from siming_tasks.data.builder.sources import VideoFile, find_sources, new_ids, span_problems
from siming_tasks.data.builder.transcode import stamp
from siming_tasks.errors import Problem
from siming_tasks.files import sha256_json
from siming_tasks.rubrics import Rubric, load_rubric
from siming_tasks.schema import CONSENSUS

__all__ = ["BuildOptions", "BuildPlan", "Inputs", "make_plan"]


@dataclass(frozen=True)
class BuildOptions:
    """How a dataset is built.

    Attributes:
        name: of the dataset (default: the folder's name).
        version: of the dataset.
        license: SPDX name, e.g. ``cc-by-nc-4.0``.
        languages: spoken or shown, e.g. ``("zh",)``.
        consensus: ``agree``, ``mean`` or a rater's name (see :func:`siming_tasks.data.builder.consensus.decide`).
        keep_audio: keep the first audio stream.
        keep_ids: keep the sheet's names as video ids instead of ``v001``...
        synthetic: the videos or labels are simulated.
    """

    name: str = ""
    version: str = "1"
    license: str = ""
    languages: tuple[str, ...] = ()
    consensus: str = "agree"
    keep_audio: bool = False
    keep_ids: bool = False
    synthetic: bool = False


@dataclass(frozen=True)
class Inputs:
    """The files that a dataset is built of (see :func:`siming_tasks.data.builder.make.build_dataset`)."""

    rubric: Path
    labels: Path
    videos: Path
    spans: Path | None = None
    adjudicated: Path | None = None
    mapping: Path | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class BuildPlan:
    """What will be built.

    Attributes:
        rubric: the checked rubric.
        rubric_file: where it came from.
        rows: the label rows.
        decision: their points, consensus included.
        sources: video files by the sheet's name.
        ids: ids by the sheet's name.
        students: ids by the sheet's name.
        options: the options.
    """

    rubric: Rubric
    rubric_file: Path
    rows: tuple[LabelRow, ...]
    decision: Decision
    sources: Mapping[str, VideoFile]
    ids: Mapping[str, str]
    students: Mapping[str, str]
    options: BuildOptions

    def key(self) -> str:
        """What stands for the inputs, so that a finished or half-finished build of the same is recognised."""
        files = [[self.ids[name], *stamp(source.path)] for name, source in self.sources.items()]
        rows = [[row.video, row.step_id, row.start, row.end, row.applicable, dict(row.about)] for row in self.rows]
        scores = [[*place, values] for place, values in self.decision.scores.items()]
        return sha256_json([self.rubric.model_dump(mode="json"), files, rows, scores, asdict(self.options)])


def make_plan(inputs: Inputs, options: BuildOptions) -> tuple[BuildPlan, list[Problem]]:
    """The plan, and every problem found on the way; the plan must not be carried out if one is an error.

    Raises:
        DataError: a file cannot be read at all.
        RubricError: the rubric is wrong.
    """
    rubric = load_rubric(inputs.rubric)
    rows, problems = _read(inputs, rubric)
    sources, found = find_sources(inputs.videos, rows)
    decision = decide(rows, options.consensus)
    problems += found
    problems += span_problems(rows, {name: source.duration for name, source in sources.items()})
    problems += _about_videos(rows)
    problems += decision.problems
    ids = new_ids(dict.fromkeys(row.video for row in rows), options.keep_ids)
    students = new_ids(dict.fromkeys(row.about["student"] for row in rows if "student" in row.about), prefix="s")
    plan = BuildPlan(rubric, inputs.rubric, tuple(rows), decision, sources, ids, students, options)
    return plan, problems


def _read(inputs: Inputs, rubric: Rubric) -> tuple[list[LabelRow], list[Problem]]:
    """The label rows, with the spans and the adjudicated points of further sheets filled in."""
    words = read_mapping(inputs.mapping) if inputs.mapping else None
    rows, problems = read_labels(inputs.labels, rubric, words, inputs.encoding)
    known = {(row.video, row.step_id): row for row in rows}
    for sheet in (inputs.spans, inputs.adjudicated):
        if sheet is None:
            continue
        more, found = read_labels(sheet, rubric, words, inputs.encoding)
        problems += [problem for problem in found if problem.code != "columns-ignored"]
        for row in more:
            at = (row.video, row.step_id)
            if at not in known:
                what, fix = "the score sheet has no such row.", "Correct the id or add the points."
                problems.append(row.problem("row-unlabelled", what, fix, severity="warning"))
            elif sheet == inputs.spans:
                known[at] = replace(known[at], start=row.start, end=row.end)
            elif CONSENSUS in row.scores:
                known[at] = replace(known[at], scores={**known[at].scores, CONSENSUS: row.scores[CONSENSUS]})
    return list(known.values()), problems


def _about_videos(rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Facts about a video (site, student, split) must be the same in all its rows."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for row in rows:
        for name, value in row.about.items():
            known, line = first.setdefault((row.video, name), (value, row.lines[0]))
            if known != value:
                what = f"{name} is {value!r} here and {known!r} on line {line}."
                yield row.problem("video-differs", what, "Write the same in all rows of a video.", name)
